"""Builds the timeline's columns, one per rebalance, and caches them: reading a rebalance's events is expensive."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from threading import Lock
from typing import NamedTuple

from rebalance_agent.api.group_source import GroupSource
from rebalance_agent.api.query import NotKnownError
from rebalance_agent.api.shapes import Rebalance, RebalanceKind
from rebalance_agent.clock import Clock
from rebalance_agent.model.episode import Stall, Trigger
from rebalance_agent.model.events import MemberSnapshot
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.member_changes import identity
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.ui.sentences.group_detail import closing_event
from rebalance_agent.ui.sentences.named_members import member_names

__all__ = ["COLUMNS_MAX", "MEMBERS_MAX", "OwnedCount", "TimelineColumn", "TimelineColumns"]

COLUMNS_MAX = 40
"""Maximum number of rebalances in a timeline: more columns would be narrower than a word."""

MEMBERS_MAX = 200
"""Maximum number of members kept per rebalance, first by name: about three times as many as are drawn."""

GROUPS_MAX = 16
"""Maximum number of groups whose columns are cached: as many as a few users view, 20 MB at most."""

READ_SECONDS_MAX = 0.3
"""Longest time (seconds) of reading for one answer (large groups: 0.1 s per rebalance); the next answer continues."""


class OwnedCount(NamedTuple):
    """The number of a member's partitions, and a hash of the member and its partitions for comparing columns."""

    partitions: int
    mark: int


@dataclass(frozen=True, slots=True)
class TimelineColumn:
    """One rebalance, and the number of partitions that each member owned after it.

    ``last``, ``previous``: generations. ``held``: owned counts by name (see `named_members`), so that a restarted
    client stays in its row; at most `MEMBERS_MAX` of all ``members``. ``started_ms``: None if not observed.
    """

    last: int
    previous: int | None
    at_ms: int
    started_ms: int | None
    trigger: Trigger
    stall: Stall | None
    protocol: RebalanceProtocol
    moved: int | None
    skew_ratio: float | None
    members: int
    held: Mapping[str, OwnedCount]


class TimelineColumns:
    """A cache of columns for the groups that were requested last. Thread-safe."""

    def __init__(self, groups: GroupSource, clock: Clock) -> None:
        """Start empty; ``groups`` is read as columns are requested."""
        self._source = groups
        self._clock = clock
        self._lock = Lock()
        self._groups: OrderedDict[str, dict[tuple[str, int], TimelineColumn]] = OrderedDict()

    def of(self, group: str, lines: Sequence[Rebalance]) -> tuple[list[TimelineColumn], int]:
        """Return the columns, oldest first, of ``lines`` (newest first), and the number of rebalances not read yet."""
        completed = [line for line in lines if line.kind is RebalanceKind.COMPLETED][:COLUMNS_MAX]
        with self._lock:
            cached = dict(self._groups.get(group, {}))
        end, missing = self._clock.monotonic() + READ_SECONDS_MAX, 0
        columns: dict[tuple[str, int], TimelineColumn] = {}
        for line in completed:
            key = line.id, line.revision
            column = cached.get(key)
            if column is None and self._clock.monotonic() < end:
                column = self._read(group, line)
            if column:
                columns[key] = column
            else:
                missing += 1
        with self._lock:
            self._groups[group] = columns
            self._groups.move_to_end(group)
            while len(self._groups) > GROUPS_MAX:
                self._groups.popitem(last=False)
        return list(reversed(columns.values())), missing

    def _read(self, group: str, line: Rebalance) -> TimelineColumn | None:
        try:
            event = closing_event(self._source.rebalance(group, line.id))
        except NotKnownError:
            return None  # the rebalance was evicted in the meantime
        if event is None:
            return None
        names = member_names(event.members)
        members = sorted(event.members, key=lambda member: names[identity(member)])[:MEMBERS_MAX]
        return TimelineColumn(
            last=line.generation,
            previous=line.previous_generation,
            at_ms=line.timestamp_ms,
            started_ms=line.started_ms,
            trigger=event.trigger,
            stall=line.stall,
            protocol=event.protocol,
            moved=line.moved,
            skew_ratio=event.skew_ratio,
            members=len(event.members),
            held={names[identity(member)]: _held(member) for member in members},
        )


def _held(member: MemberSnapshot) -> OwnedCount:
    return OwnedCount(count_partitions(member.assigned), hash((identity(member), frozenset(member.assigned.items()))))
