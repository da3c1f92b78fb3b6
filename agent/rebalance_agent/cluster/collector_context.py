"""What every collector is given: where to ask, where to put what it saw, and whom to tell how it is."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, Protocol

from rebalance_agent.clock import Clock
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.cluster.inbox import Inbox
from rebalance_agent.health import Health

__all__ = ["POLL_NAMES", "CollectorContext", "Meters", "PollName", "SnapshotProblem"]

PollName = Literal["describe", "list", "list_all", "loads", "topics"]
POLL_NAMES: tuple[PollName, ...] = ("describe", "list", "list_all", "topics")
"""Those that are always asked; ``loads`` is where groups are followed for it."""


SnapshotProblem = Literal["unreadable", "malformed", "foreign", "out_of_range", "too_large", "write"]
"""Why a snapshot was not used, or (``too_large``, ``write``) not written."""


class Meters(Protocol):
    """The agent's own numbers, as far as collectors feed them. Methods return at once, from any thread."""

    def events_received(self, kind: str, number: int = 1) -> None:
        """Events of members came in."""
        ...

    def event_malformed(self) -> None:
        """A record of the events topic was no event."""
        ...

    def baseline_malformed(self) -> None:
        """A record of the baselines topic was no baseline."""
        ...

    def read(self, records: int, size_bytes: int) -> None:
        """Records came from the offsets topic."""
        ...

    def decode_error(self, key_version: int | None) -> None:
        """A record broke its schema."""
        ...

    def unknown_record(self, unknown: Literal["key_version", "value_version"], number: int = 1) -> None:
        """Records were passed over because nothing here knows their version."""
        ...

    def unknown_tagged_fields(self, number: int) -> None:
        """Tagged fields of records were skipped because nothing here knows them."""
        ...

    def tail_lag(self, records: int) -> None:
        """Records between the tail and the topic's end, now."""
        ...

    def loads_left_out(self, partitions: int) -> None:
        """So many partitions are too many to follow their lag and rate, now."""
        ...

    def owned(self, partitions: int) -> None:
        """The observer's share of the offsets topic became another one, of so many partitions."""
        ...

    def snapshot_written(self, now_ms: int, size_bytes: int) -> None:
        """Kafka acknowledged a snapshot, for which records of ``size_bytes`` were sent."""
        ...

    def snapshot_problem(self, problem: SnapshotProblem) -> None:
        """A snapshot could not be used or written."""
        ...

    def replayed(self, records: int) -> None:
        """Records of groups were read again, from a snapshot on."""
        ...

    def offsets_limit(self, size_bytes: int) -> None:
        """The offsets topic takes records of at most this size."""
        ...

    def polled(self, poll: PollName, seconds: float, succeeded_ms: int | None) -> None:
        """A poll was answered at ``succeeded_ms``, or failed (None)."""
        ...


@dataclass(frozen=True, slots=True)
class CollectorContext:
    """``properties``: librdkafka's, for clients of one's own; ``shows``: which groups anyone wants to hear of."""

    properties: Mapping[str, str]
    cluster: Cluster
    inbox: Inbox
    health: Health
    meters: Meters
    clock: Clock
    shows: Callable[[str], bool]
