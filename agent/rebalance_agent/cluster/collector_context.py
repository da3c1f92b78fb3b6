"""The common arguments of collectors: the cluster, the inbox for observations, health, meters and clock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from rebalance_agent.clock import Clock
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.cluster.inbox import Inbox
from rebalance_agent.health import Health

__all__ = ["POLL_NAMES", "CollectorContext", "Meters", "PollName", "SnapshotProblem"]

PollName = Literal["describe", "list", "list_all", "loads", "topics"]
POLL_NAMES: tuple[PollName, ...] = ("describe", "list", "list_all", "topics")
"""The polls that always run; ``loads`` runs only if groups are followed for lag and rate."""


SnapshotProblem = Literal["unreadable", "malformed", "foreign", "out_of_range", "too_large", "write"]
"""Why a snapshot was not used, or (``too_large``, ``write``) not written."""


class Meters(Protocol):
    """The agent's own metrics that collectors feed. Methods return at once and may be called from any thread."""

    def events_received(self, kind: str, number: int = 1) -> None:
        """Count members' events that were read."""
        ...

    def event_malformed(self) -> None:
        """Count a record of the events topic that is not an event."""
        ...

    def baseline_malformed(self) -> None:
        """Count a record of the baselines topic that is not a baseline."""
        ...

    def read(self, records: int, size_bytes: int) -> None:
        """Count records read from the offsets topic, and their bytes."""
        ...

    def decode_error(self, key_version: int | None) -> None:
        """Count a record that does not match its schema."""
        ...

    def unknown_record(self, unknown: Literal["key_version", "value_version"], number: int = 1) -> None:
        """Count records that were skipped because their version is unknown."""
        ...

    def unknown_tagged_fields(self, number: int) -> None:
        """Count tagged fields that were skipped because they are unknown."""
        ...

    def over_budget(self, outcome: Literal["waited", "skipped", "unreported"], number: int = 1) -> None:
        """Count records of groups that caused too much work, or take too much memory."""
        ...

    def groups_over_budget(self, budget: Literal["work", "memory"], groups: Sequence[str]) -> None:
        """Set the names of the groups that recently exceeded this budget."""
        ...

    def observation_age(self, seconds: float) -> None:
        """Set how long the oldest observation has waited to be processed."""
        ...

    def tail_lag(self, records: int) -> None:
        """Set how many records lie between the tail and the topic's end."""
        ...

    def loads_left_out(self, partitions: int) -> None:
        """Set how many partitions are not followed for lag and rate because there are too many."""
        ...

    def owned(self, partitions: int, *, changed: bool) -> None:
        """Set how many partitions of the offsets topic this observer owns, and count a change of them."""
        ...

    def snapshot_due(self, now_ms: int) -> None:
        """Record that snapshots are due from now on; only the first call counts, and only before the first snapshot."""
        ...

    def snapshot_written(self, now_ms: int, size_bytes: int) -> None:
        """Record a snapshot of ``size_bytes`` that Kafka acknowledged."""
        ...

    def snapshot_problem(self, problem: SnapshotProblem) -> None:
        """Count a snapshot that could not be used or written."""
        ...

    def replayed(self, records: int) -> None:
        """Count records of groups that were read again after a snapshot."""
        ...

    def offsets_limit(self, size_bytes: int) -> None:
        """Set the largest record that the offsets topic accepts."""
        ...

    def polled(self, poll: PollName, seconds: float, succeeded_ms: int | None) -> None:
        """Record a poll that took ``seconds`` and succeeded at ``succeeded_ms`` (epoch ms), or failed (None)."""
        ...


@dataclass(frozen=True, slots=True)
class CollectorContext:
    """The objects that all collectors share.

    ``properties``: librdkafka's properties for clients of collectors. ``shows``: returns whether a group is shown.
    """

    properties: Mapping[str, str]
    cluster: Cluster
    inbox: Inbox
    health: Health
    meters: Meters
    clock: Clock
    shows: Callable[[str], bool]
