"""The consumers that report to a sidecar, with the partitions of each, and the time since which each is stalled."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from rebalance_agent.model.events import AssignEvent, Callback, MemberEvent
from rebalance_agent.model.partition_ranges import PartitionRanges, ReportedPartitions, as_ranges, minus, plus

__all__ = ["CLIENTS_MAX", "OWNED_BYTES_MAX", "ClientsSeen", "ConsumerStatus", "SeenClient", "owned_bytes"]

CLIENTS_MAX = 1_000
"""Maximum number of consumers kept. A pod has a few; consumers of ended processes stay until removed as silent."""

OWNED_BYTES_MAX = 16 * 2**20
"""Maximum bytes of all consumers' partitions, kept as ranges; a pod's consumers need some kilobytes."""

TOPIC_BYTES = 300
"""Bytes that one topic of a consumer takes in addition to its texts: its `PartitionRanges` and its table entry."""


@dataclass(slots=True)
class SeenClient:
    """One consumer: a client id in a group in one process.

    ``seen``: last report, monotonic seconds. ``generation``: -1 if unknown. ``stalled_ms``: epoch milliseconds at which
    its revoked or lost callback was entered; None once its next assigned callback has returned. ``has_heartbeat``: its
    process sends heartbeats. ``sequences``: event kind -> highest sequence number.
    """

    group: str
    client_id: str
    seen: float
    generation: int = -1
    owned: dict[str, PartitionRanges] = field(default_factory=dict)
    stalled_ms: int | None = None
    skew: float | None = None
    missing_standbys: int | None = None
    has_heartbeat: bool = False
    sequences: dict[str, int] = field(default_factory=dict)


class ConsumerStatus(NamedTuple):
    """One consumer now; fields as in `SeenClient`, with the number of its partitions."""

    group: str
    client_id: str
    generation: int
    partitions: int
    skew: float | None
    stalled_ms: int | None
    owned: ReportedPartitions


class ClientsSeen:
    """Consumers by (process, group, client id); the least recently seen are removed first."""

    def __init__(self) -> None:
        """Start without consumers."""
        self._clients: dict[tuple[str, str, str], SeenClient] = {}

    def __iter__(self) -> Iterator[SeenClient]:
        """All consumers, the least recently seen first."""
        return iter(self._clients.values())

    def record(self, event: MemberEvent | AssignEvent, now: float) -> SeenClient | None:
        """Record the event and return its consumer; None for a duplicate (senders repeat unanswered events)."""
        key = (event.process, event.group, event.client_id)
        client = self._clients.pop(key, None) or SeenClient(event.group, event.client_id, now)
        self._clients[key] = client
        client.seen = now
        if event.sequence <= client.sequences.get(event.KIND, -1):
            return None
        client.sequences[event.KIND] = event.sequence
        return client

    def renew(self, process: str, now: float) -> list[SeenClient]:
        """Record a heartbeat of ``process``, and return its consumers."""
        return self._renew([key for key in self._clients if key[0] == process], now)

    def renew_all(self, now: float) -> list[SeenClient]:
        """Record a heartbeat of every process, and return all consumers."""
        return self._renew(list(self._clients), now)

    def _renew(self, keys: list[tuple[str, str, str]], now: float) -> list[SeenClient]:
        for key in keys:
            client = self._clients[key] = self._clients.pop(key)
            client.seen, client.has_heartbeat = now, True
        return [self._clients[key] for key in keys]

    def callback(self, client: SeenClient, event: MemberEvent) -> float | None:
        """Apply a callback to the consumer, and return the seconds of the stall that it ended, or None."""
        if event.callback is Callback.LEFT:
            client.owned.clear()
            client.stalled_ms = None
            return None
        client.generation = max(client.generation, event.generation)
        partitions = as_ranges(event.partitions)
        if event.callback is not Callback.ASSIGNED:
            client.owned = minus(client.owned, partitions)
            if partitions and client.stalled_ms is None:
                client.stalled_ms = event.started_ms
            return None
        for other in self:
            # A partition has one owner: a consumer that was killed never reported that it gave it up.
            if other.group == client.group and not partitions.keys().isdisjoint(other.owned):
                other.owned = minus(other.owned, partitions)
        client.owned = plus(client.owned, partitions)
        since, client.stalled_ms = client.stalled_ms, None
        return None if since is None else max(0, event.timestamp_ms - since) / 1000

    def forget(self, client: SeenClient) -> None:
        """Remove a consumer that left."""
        self._clients = {key: other for key, other in self._clients.items() if other is not client}

    def forget_silent(self, before: float, lifeless_before: float) -> list[SeenClient]:
        """Remove and return the consumers last seen before ``before``, and the least recently seen beyond the bounds.

        ``lifeless_before`` applies instead to consumers whose process sends heartbeats. Both are monotonic seconds.
        """
        owned = sum(map(owned_bytes, self))
        gone: list[SeenClient] = []
        for client in tuple(self):
            alive = client.seen >= (lifeless_before if client.has_heartbeat else before)
            if alive and len(self._clients) - len(gone) <= CLIENTS_MAX and owned <= OWNED_BYTES_MAX:
                continue
            gone.append(client)
            owned -= owned_bytes(client)
        gone_ids = set(map(id, gone))
        self._clients = {key: client for key, client in self._clients.items() if id(client) not in gone_ids}
        return gone


def owned_bytes(client: SeenClient) -> int:
    """Return the memory of the consumer's partitions in bytes."""
    return sum(TOPIC_BYTES + len(topic) + len(ranges.text) for topic, ranges in client.owned.items())
