"""Stores the consumers that report to a sidecar, with each consumer's partitions and the start of its stall."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from rebalance_agent.model.events import AssignEvent, Callback, MemberEvent
from rebalance_agent.model.partition_ranges import PartitionRanges, ReportedPartitions, as_ranges, minus, plus

__all__ = ["CLIENTS_MAX", "OWNED_BYTES_MAX", "ClientsSeen", "ConsumerStatus", "SeenClient", "owned_bytes"]

CLIENTS_MAX = 1_000
"""Maximum number of consumers. A pod has a few; consumers of ended processes stay until they are removed as silent."""

OWNED_BYTES_MAX = 16 * 2**20
"""Maximum bytes of all consumers' partitions, stored as ranges; a pod's consumers need some kilobytes."""

TOPIC_BYTES = 300
"""Bytes that a topic of a consumer takes in addition to its text: the `PartitionRanges` and the table entry."""


@dataclass(slots=True)
class SeenClient:
    """One consumer: a client id in a group in one process.

    ``seen``: time of the last report in monotonic seconds. ``generation``: -1 if unknown. ``stalled_ms``: time (epoch
    milliseconds) at which the revoked or lost callback began; None after the next assigned callback has returned.
    ``has_heartbeat``: whether the process sends heartbeats. ``sequences``: event kind -> highest sequence number.
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
    """The present state of a consumer, with the fields of `SeenClient` and the number of the consumer's partitions."""

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
        """Return all consumers, the least recently seen first."""
        return iter(self._clients.values())

    def record(self, event: MemberEvent | AssignEvent, now: float) -> SeenClient | None:
        """Record the event, and return its consumer; None for a duplicate (senders repeat unanswered events)."""
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
        """Apply a callback to the consumer; return the seconds of the stall that the callback ended, or None."""
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
            # A partition has one owner, and a consumer that was killed never reported that it gave up the partition.
            if other.group == client.group and not partitions.keys().isdisjoint(other.owned):
                other.owned = minus(other.owned, partitions)
        client.owned = plus(client.owned, partitions)
        since, client.stalled_ms = client.stalled_ms, None
        return None if since is None else max(0, event.timestamp_ms - since) / 1000

    def forget(self, client: SeenClient) -> None:
        """Remove a consumer that left."""
        self._clients = {key: other for key, other in self._clients.items() if other is not client}

    def forget_silent(self, before: float, lifeless_before: float) -> list[SeenClient]:
        """Remove and return consumers last seen before ``before``, and the least recently seen beyond the limits.

        ``lifeless_before`` replaces ``before`` for consumers whose process sends heartbeats. Both are in monotonic
        seconds.
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
