"""Stores the consumers that report to a sidecar, with each consumer's partitions and the start of its stall."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from rebalance_agent.instrumentation.delivery.heartbeat import PERIOD_SECONDS
from rebalance_agent.metrics.export.owned_partitions import ConsumerKey, OwnedPartitions
from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.events import AssignEvent, Callback, MemberEvent
from rebalance_agent.model.partition_ranges import ReportedPartitions

__all__ = [
    "CLIENTS_MAX",
    "OVERDUE_SECONDS",
    "OWNED_BYTES_MAX",
    "RANGES_SHOWN",
    "SILENT_EVERY_S",
    "ClientsSeen",
    "ConsumerStatus",
    "SeenClient",
]

CLIENTS_MAX = 1_000
"""Maximum number of consumers. A pod has a few; consumers of ended processes stay until they are removed as silent."""

OWNED_BYTES_MAX = 16 * 2**20
"""Maximum number of bytes of all consumers' partitions; a pod's consumers need some kilobytes."""

RANGES_SHOWN = 200
"""Maximum number of ranges of a consumer in its `ConsumerStatus`: more than the sidecar's page shows."""

OVERDUE_SECONDS = PERIOD_SECONDS + 30
"""Seconds without a report after which a process that sends heartbeats itself has probably ended."""

SILENT_EVERY_S = 1.0
"""Seconds between searches for silent consumers, which read all consumers."""


@dataclass(slots=True)
class SeenClient:
    """The last reports of one consumer.

    ``seen``: time of the last report in monotonic seconds. ``generation``: -1 if unknown. ``stalled_ms``: time (epoch
    milliseconds) at which the revoked or lost callback began; None after the next assigned callback has returned.
    ``has_heartbeat``: whether the process sends heartbeats. ``by_frames``: whether a gateway reports for the consumer,
    which sends no requests while it waits for the others to join. ``sequences``: event kind -> highest sequence number.
    """

    key: ConsumerKey
    seen: float
    generation: int = -1
    stalled_ms: int | None = None
    skew: float | None = None
    missing_standbys: int | None = None
    has_heartbeat: bool = False
    by_frames: bool = False
    sequences: dict[str, int] = field(default_factory=dict)

    @property
    def group(self) -> str:
        """The consumer's group."""
        return self.key.group

    @property
    def client_id(self) -> str:
        """The consumer's client id."""
        return self.key.client_id


class ConsumerStatus(NamedTuple):
    """The present state of a consumer, with fields of `SeenClient`, and the number of the consumer's partitions.

    ``owned``: the consumer's partitions, at most `RANGES_SHOWN` ranges. ``seen_ms``: time of the last report or
    heartbeat, in epoch milliseconds, to the second. ``overdue``: heartbeats are missing (see `OVERDUE_SECONDS`).
    """

    group: str
    client_id: str
    generation: int
    partitions: int
    skew: float | None
    stalled_ms: int | None
    owned: ReportedPartitions
    seen_ms: int
    overdue: bool


class ClientsSeen:
    """Consumers by (process, group, client id); the least recently seen are removed first."""

    def __init__(self) -> None:
        """Start without consumers."""
        self._clients: dict[ConsumerKey, SeenClient] = {}
        self._owned = OwnedPartitions()
        self._search_at = float("-inf")

    def __iter__(self) -> Iterator[SeenClient]:
        """Return all consumers, the least recently seen first."""
        return iter(self._clients.values())

    def record(self, event: MemberEvent | AssignEvent, now: float) -> SeenClient | None:
        """Record the event, and return its consumer; None for a duplicate (senders repeat unanswered events)."""
        key = ConsumerKey(event.process, event.group, event.client_id)
        client = self._clients.pop(key, None) or SeenClient(key, now)
        self._clients[key] = client
        client.seen = now
        client.by_frames = isinstance(event, MemberEvent) and event.evidence is Evidence.GATEWAY
        if event.sequence <= client.sequences.get(event.KIND, -1):
            return None
        client.sequences[event.KIND] = event.sequence
        return client

    def renew(self, process: str, now: float) -> list[SeenClient]:
        """Record a heartbeat of ``process``, and return its consumers."""
        return self._renew([key for key in self._clients if key.process == process], now)

    def renew_all(self, now: float) -> list[SeenClient]:
        """Record a heartbeat of every process, and return all consumers."""
        return self._renew(list(self._clients), now)

    def _renew(self, keys: list[ConsumerKey], now: float) -> list[SeenClient]:
        for key in keys:
            client = self._clients[key] = self._clients.pop(key)
            client.seen, client.has_heartbeat = now, True
        return [self._clients[key] for key in keys]

    def callback(self, client: SeenClient, event: MemberEvent) -> float | None:
        """Apply a callback to the consumer; return the seconds of the stall that the callback ended, or None."""
        if event.callback is Callback.LEFT:
            self._owned.release(client.key)
            client.stalled_ms = None
            return None
        client.generation = max(client.generation, event.generation)
        if event.callback is not Callback.ASSIGNED:
            self._owned.revoke(client.key, event.partitions)
            if any(event.partitions.values()) and client.stalled_ms is None:
                client.stalled_ms = event.started_ms
            return None
        self._owned.assign(client.key, event.partitions)
        since, client.stalled_ms = client.stalled_ms, None
        return None if since is None else max(0, event.timestamp_ms - since) / 1000

    def partitions(self, client: SeenClient) -> int:
        """Return the number of the consumer's partitions."""
        return self._owned.count(client.key)

    def statuses(self, now: float, now_ms: int) -> list[ConsumerStatus]:
        """Return the state of all consumers at ``now`` (monotonic s, epoch ms), the least recently seen first."""
        return [
            ConsumerStatus(
                client.group,
                client.client_id,
                client.generation,
                self.partitions(client),
                client.skew,
                client.stalled_ms,
                self._owned.first_ranges(client.key, RANGES_SHOWN),
                # To the second, so that the two clocks, which are not read at once, give the same time again.
                seen_ms=round(now_ms / 1000 - (now - client.seen)) * 1000,
                overdue=client.has_heartbeat and not client.by_frames and now - client.seen > OVERDUE_SECONDS,
            )
            for client in self
        ]

    def forget(self, client: SeenClient) -> None:
        """Remove a consumer, for example one that left."""
        self._owned.release(client.key)
        self._clients.pop(client.key, None)

    def forget_silent(self, now: float, silent_seconds: float, lifeless_seconds: float) -> None:
        """Remove silent consumers, at most once in `SILENT_EVERY_S`, and the least recently seen beyond the limits.

        A consumer is silent if it was last seen ``silent_seconds`` before ``now``, and ``lifeless_seconds`` if its
        process sends heartbeats.
        """
        if now >= self._search_at:
            self._search_at = now + SILENT_EVERY_S
            for client in tuple(self):
                if client.seen < now - (lifeless_seconds if client.has_heartbeat else silent_seconds):
                    self.forget(client)
        while len(self._clients) > CLIENTS_MAX or (self._clients and self._owned.size_bytes > OWNED_BYTES_MAX):
            self.forget(next(iter(self)))
