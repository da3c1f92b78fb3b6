"""Compares rows of the pipeline's tables with the events from which they were made."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from enum import Enum

from rebalance_agent.audit.audit_report import Difference
from rebalance_agent.audit.audited_group import RecordPosition, digest
from rebalance_agent.model.events import Event, GenerationEvent, MemberSnapshot
from rebalance_agent.model.group import TaskKind
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.model.reported.workload import Workload

__all__ = [
    "EVENT_COLUMNS",
    "GENERATION_COLUMNS",
    "MEMBER_COLUMNS",
    "TableRows",
    "contradictions",
    "slowest_client_id",
]

EVENT_COLUMNS = (
    "event_id", "kind", "cluster_id", "group", "generation", "source", "revision", "part", "parts", "timestamp_ms",
)  # fmt: skip
"""Columns compared in a row of ``events``; times are epoch milliseconds."""


def slowest_client_id(event: GenerationEvent) -> str | None:
    """Return the client id of the slowest member; None if unknown. Events of earlier releases name only members."""
    if event.slowest_client_id is not None:
        return event.slowest_client_id
    return next((element.client_id for element in event.members if element.member_id == event.slowest_member_id), None)


_DERIVED: Mapping[str, Callable[[GenerationEvent], object]] = {
    "completed_ms": lambda event: event.phases.completed_ms,
    "started_ms": lambda event: event.phases.started_ms,
    "stall_seconds": lambda event: event.stall.lower_seconds if event.stall else None,
    "stall_upper_seconds": lambda event: event.stall.seconds if event.stall else None,
    "stall_basis": lambda event: event.stall.basis if event.stall else None,
    "stalled_partition_seconds": lambda event: event.stall.partition_seconds if event.stall else None,
    "member_count": lambda event: len(event.members),
    "partition_count": lambda event: sum(event.topics.values()),
    "excess": lambda event: event.excess,
    "slowest_client_id": slowest_client_id,
}

GENERATION_COLUMNS = (
    "event_id", "cluster_id", "group", "group_type", "generation", "previous_generation", "episode_generation",
    "closes_episode", "followups", "epoch_kind", "assignor", "protocol", "source", "revision", "trigger", "causes",
    "moved", "needed", "revoked", "assigned", "lost", "lost_min", "unassigned", "noop", "skew_ratio", "imbalance",
    "topics", "join_seconds", "sync_seconds", "assignor_wait_seconds", "reconcile_seconds", "slowest_member_id",
    "slowest_seconds", "slowest_lower_seconds", "flapping",
    *_DERIVED,
)  # fmt: skip
"""Columns compared in a row of ``generations``."""

MEMBER_COLUMNS = (
    "member_id", "client_id", "instance_id", "host", "rack", "pod", "node", "workload", "image", "topics",
    "partitions", "owned", "stop_seconds", "session_timeout_ms", "rebalance_timeout_ms",
    "process_id", "endpoint", "active_tasks", "standby_tasks", "warmup_tasks", "subtopologies",
)  # fmt: skip
"""Columns compared in a row of ``members``, which is found with its ``event_id``."""

_NOWHERE = Workload()


def contradictions(event: Event, row: Mapping[str, object]) -> Iterator[str]:
    """Yield the columns of a row that differ from the event in its ``body``."""
    for name, value in row.items():
        expected = _plain(_expected(event, name))
        if value != expected:
            yield f"{name} is {value!r}, but its body contains {expected!r}"


def _expected(event: Event, name: str) -> object:
    if name == "kind":
        return event.KIND
    if isinstance(event, GenerationEvent) and name in _DERIVED:
        return _DERIVED[name](event)
    return getattr(event, name, 1 if name == "parts" else 0 if name == "part" else None)


def _plain(value: object) -> object:
    """Return the value in the form in a table: lists for tuples, strings for enum members."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, tuple):
        return [_plain(element) for element in value]
    return dict(value) if isinstance(value, Mapping) else value


@dataclass(slots=True)
class _Roster:
    """Numbers of an event's members and rows, and the sum of the members' digests minus that of the rows' digests."""

    group: str = ""
    number: int = 0
    members: int = 0
    digests: int = 0
    rows: int = 0


class TableRows:
    """Checks that each member of an event has its row in ``members`` and vice versa, in any order."""

    def __init__(self) -> None:
        """Start without events and rows."""
        self._rosters: dict[str, _Roster] = {}

    def add_event(self, event: GenerationEvent) -> None:
        """Add an event, all of whose members must have rows."""
        roster = self._rosters.setdefault(event.event_id, _Roster())
        roster.group, roster.number = event.group, event.generation
        roster.members += len(event.members)
        roster.digests += sum(digest(*_columns(member)) for member in event.members)

    def add_row(self, event_id: str, group: str, number: int, row: Mapping[str, object]) -> None:
        """Add a row of ``members`` with `MEMBER_COLUMNS`."""
        roster = self._rosters.setdefault(event_id, _Roster(group, number))
        roster.rows += 1
        roster.digests -= digest(*(_ordered(row[name]) for name in MEMBER_COLUMNS))

    def differences(self) -> Iterator[Difference]:
        """Yield the events whose members and rows differ."""
        for event_id, roster in self._rosters.items():
            if roster.digests or roster.members != roster.rows:
                what = f"it has {roster.members} members, but {roster.rows} rows of members, or rows of other members"
                yield Difference(
                    roster.group, roster.number, what, (RecordPosition(f"members where event_id = {event_id!r}"),)
                )


def _columns(member: MemberSnapshot) -> Iterator[object]:
    """Yield a member's columns in the form in the table; Kafka prefixes a client's address with a slash."""
    where = member.where or _NOWHERE
    host = member.host.lstrip("/")
    yield from (member.member_id, member.client_id, member.instance_id, host, member.rack or None)
    yield from (where.pod, where.node, where.workload, where.image, list(member.topics))
    yield from (count_partitions(member.assigned), count_partitions(member.owned))
    yield from (member.stop_seconds, member.session_timeout_ms, member.rebalance_timeout_ms)
    if member.streams is None:
        yield from (None, None, *(None for _ in TaskKind), None)
    else:
        yield from (member.streams.process_id, member.streams.endpoint)
        yield from map(count_partitions, member.streams.tasks.values())
        yield sorted((subtopology, len(numbers)) for subtopology, numbers in member.streams.active.items())


def _ordered(value: object) -> object:
    """Return the value; a map as its sorted items, because the text of a map depends on their order."""
    return sorted(value.items()) if isinstance(value, Mapping) else value
