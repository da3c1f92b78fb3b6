"""What the timeline shows of each rebalance: small, and kept, since reading events back is the dear part."""

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
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.ui.sentences.group_detail import closing_event
from rebalance_agent.ui.sentences.members import identity, member_names

__all__ = ["COLUMNS_MAX", "MEMBERS_MAX", "OwnedCount", "TimelineColumn", "TimelineColumns"]

COLUMNS_MAX = 40
"""Rebalances of a timeline: more would be narrower than a word."""

MEMBERS_MAX = 200
"""Members of one rebalance that are kept, by their names: some three times what is drawn."""

GROUPS_MAX = 16
"""Groups whose columns are kept: what a few people look at, 20 MB at the very most."""

READ_S_MAX = 0.3
"""How long one answer may read back; what is older comes with the next one. Large groups take 0.1 s a rebalance."""


class OwnedCount(NamedTuple):
    """What a member owned: how many partitions, and a mark that is another for any other member or partitions."""

    partitions: int
    mark: int


@dataclass(frozen=True, slots=True)
class TimelineColumn:
    """One rebalance, and who owned what from then on.

    ``held`` is by what people call a member (`telling.words.member_names`): a client that restarts stays in its row.
    ``started_ms`` is None where nobody saw the beginning; ``members``: how many there were, ``held`` may have fewer.
    """

    first: int
    last: int
    previous: int | None
    at_ms: int
    started_ms: int | None
    trigger: Trigger
    stall: Stall | None
    protocol: RebalanceProtocol
    moved: int
    skew_ratio: float | None
    members: int
    held: Mapping[str, OwnedCount]


class TimelineColumns:
    """Columns by group, those that were asked for last. Thread-safe."""

    def __init__(self, groups: GroupSource, clock: Clock) -> None:
        """Nothing is read yet."""
        self._source = groups
        self._clock = clock
        self._lock = Lock()
        self._groups: OrderedDict[str, dict[tuple[str, int], TimelineColumn]] = OrderedDict()

    def of(self, group: str, lines: Sequence[Rebalance]) -> tuple[list[TimelineColumn], int]:
        """The columns of ``lines`` (newest first), oldest first; and how many are to be read another time."""
        wanted = [each for each in lines if each.kind is RebalanceKind.COMPLETED][:COLUMNS_MAX]
        with self._lock:
            known = dict(self._groups.get(group, {}))
        end, missing = self._clock.monotonic() + READ_S_MAX, 0
        columns: dict[tuple[str, int], TimelineColumn] = {}
        for line in wanted:
            key = line.id, line.revision
            found = known.get(key)
            if found is None and self._clock.monotonic() < end:
                found = self._read(group, line)
            if found:
                columns[key] = found
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
            return None  # forgotten a moment ago
        if event is None:
            return None
        names = member_names(event.members)
        members = sorted(event.members, key=lambda each: names[identity(each)])[:MEMBERS_MAX]
        return TimelineColumn(
            first=line.generations[0].generation if line.generations else line.generation,
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
            held={names[identity(each)]: _held(each) for each in members},
        )


def _held(member: MemberSnapshot) -> OwnedCount:
    return OwnedCount(count_partitions(member.assigned), hash((identity(member), frozenset(member.assigned.items()))))
