"""A classic rebalance that has begun and has no record yet: when it began, and which partitions it stalls."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.group import GroupState, Member, RebalanceProtocol
from rebalance_agent.model.partitions import TopicPartitions, count_partitions, pairs, topic_partitions
from rebalance_agent.tracking.completed_generation import Episode, Generation
from rebalance_agent.tracking.evidence.known_times import FOREVER_MS, TimeBounds
from rebalance_agent.tracking.evidence.member_reports import MemberReports, ReportSpan

__all__ = ["UNKNOWN_MS", "InProgress"]

UNKNOWN_MS = 0
"""The earliest start of a rebalance that the observer's first poll shows: the rebalance may have begun long before."""


@dataclass(slots=True)
class _Begun:
    """The first evidence of the rebalance. Times from polls are by the observer's clock, others by the broker's.

    ``earliest_ms``: `UNKNOWN_MS` if the rebalance may have begun at any time before. ``offset_ms``: the clock offset at
    that time, if known. ``shown_ms``: the time of the last poll in an unbroken series of polls that showed the group
    waiting for members. ``unbroken``: whether the next poll may extend the series.
    """

    earliest_ms: int
    latest_ms: int
    evidence: Evidence
    offset_ms: int | None
    shown_ms: int
    unbroken: bool
    gone_due_ms: int | None = None

    @property
    def lasted_ms(self) -> int:
        """The shortest possible join phase (ms): the time between two polls, so late records do not matter."""
        return self.shown_ms - self.latest_ms

    def ahead_ms(self, offset_ms: int) -> int:
        """Return the clock offset (ms) at the start; ``offset_ms`` is larger if the clock was set forward since."""
        return offset_ms if self.offset_ms is None else min(offset_ms, self.offset_ms)

    def set_back(self, by_ms: int) -> None:
        """See `InProgress.set_back`."""
        if self.evidence is not Evidence.RECORD:
            self.earliest_ms = self.earliest_ms and self.earliest_ms - by_ms
            self.latest_ms -= by_ms
            self.shown_ms -= by_ms
            self.offset_ms = None if self.offset_ms is None else self.offset_ms - by_ms
        self.gone_due_ms = None if self.gone_due_ms is None else self.gone_due_ms - by_ms


class InProgress:
    """The rebalance in progress of one group; False if there is none."""

    def __init__(self) -> None:
        """Start without a rebalance."""
        self.state: GroupState | None = None
        self._begun: _Begun | None = None
        self._lost: _Begun | None = None
        self._stalled: dict[str, _Stalled] = {}
        self._had: tuple[Generation, Mapping[str, TopicPartitions]] | None = None

    def __bool__(self) -> bool:
        """Whether a rebalance is in progress."""
        return self._begun is not None

    @property
    def started_ms(self) -> int | None:
        """The lower bound of the rebalance's start (epoch ms), or the time when the rebalance was first seen."""
        return (self._begun.earliest_ms or self._begun.latest_ms) if self._begun else None

    @property
    def gone_due_ms(self) -> int | None:
        """When to give up the rebalance because polls no longer show it; None while polls show it."""
        return self._begun.gone_due_ms if self._begun else None

    @property
    def stalled(self) -> int:
        """The number of partitions that are certainly stalled.

        These are the partitions that their owners report as stopped. Under an eager protocol, all other partitions are
        stalled, too, once all members have rejoined. Until then a member consumes until it learns of the rebalance and
        polls again.
        """
        rejoined = self.state is GroupState.COMPLETING_REBALANCE
        return sum(member.reported + member.withheld + member.silent * rejoined for member in self._stalled.values())

    @property
    def unsure(self) -> int:
        """The number of other partitions that may be stalled: their owners must revoke them before they rejoin."""
        rejoined = self.state is GroupState.COMPLETING_REBALANCE
        return sum(member.silent * (not rejoined) for member in self._stalled.values())

    @property
    def withheld(self) -> int:
        """The number of partitions that the last generation took away and whose former owners reported as stopped."""
        return sum(member.withheld for member in self._stalled.values())

    def begin(
        self,
        state: GroupState,
        window: TimeBounds,
        last: Generation | None,
        reports: MemberReports,
        offset_ms: int | None = None,
        episodes: Iterable[Episode] = (),
    ) -> bool:
        """Process the first or repeated evidence that the group is rebalancing; return whether anything changed.

        ``window``: bounds of the start. ``last``: the generation before the rebalance. ``offset_ms``: the clock offset,
        if known. ``episodes``: the recent ones, whose partitions members may still have to give up.
        """
        changed = state is not self.state or self._begun is None
        self.state = state
        if self._begun is None:
            waits = state is GroupState.PREPARING_REBALANCE and window.evidence is Evidence.LIST
            self._begun = _Begun(
                window.earliest_ms, window.latest_ms, window.evidence, offset_ms, window.latest_ms, unbroken=waits
            )
            for member in last.members if last else ():
                self._stalled[member.member_id] = self._find(member, last, reports, episodes) if last else _Stalled()
        self._begun.gone_due_ms = None
        return changed

    def confirm(self, state: GroupState, asked_ms: int, *, clock_jumped: bool) -> None:
        """Process a poll that shows the rebalance again. After another state or a gap, it may be a different one.

        ``clock_jumped``: the observer's clock may have been set forward since the previous poll.
        """
        if begun := self._begun:
            waits = state is GroupState.PREPARING_REBALANCE and begun.gone_due_ms is None and not clock_jumped
            begun.unbroken = begun.unbroken and waits
            begun.shown_ms = max(begun.shown_ms, asked_ms) if begun.unbroken else begun.shown_ms

    def add_report(
        self, member_id: str, last: Generation | None, reports: MemberReports, episodes: Iterable[Episode]
    ) -> bool:
        """Process a member's new report; return whether the stalled partitions changed. ``episodes``: see `begin`."""
        member = next((each for each in last.members if each.member_id == member_id), None) if last else None
        if not self._begun or last is None or member is None:
            return False
        stalled = self._find(member, last, reports, episodes)
        changed = stalled != self._stalled.get(member_id)
        self._stalled[member_id] = stalled
        return changed

    def unlisted(self, due_ms: int) -> None:
        """Process a poll without the rebalance: give the rebalance up at ``due_ms`` unless its record comes first."""
        if self._begun and self._begun.gone_due_ms is None:
            self._begun.gone_due_ms = due_ms

    def set_back(self, by_ms: int) -> None:
        """Shift times from polls: the observer's clock was set back by ``by_ms``."""
        for begun in filter(None, (self._begun, self._lost)):
            begun.set_back(by_ms)

    def end(self) -> None:
        """End the rebalance: its record was read."""
        self.state = self._begun = self._lost = self._had = None
        self._stalled = {}

    def give_up(self) -> None:
        """Give the rebalance up, but keep its start in case its record is read later."""
        lost = self._begun
        self.end()
        self._lost = lost

    def window(self, offset_ms: int, until_ms: int) -> TimeBounds | None:
        """Return the bounds of the start by the coordinator's clock; None without a rebalance.

        The earliest start may be `UNKNOWN_MS`.
        ``offset_ms``: upper bound of the clock offset now. ``until_ms``: the end of the join phase.
        """
        begun = self._begun
        if begun is None:
            return None
        if begun.evidence is Evidence.RECORD:
            return TimeBounds(begun.earliest_ms, begun.latest_ms, begun.evidence)
        offset_ms = begun.ahead_ms(offset_ms)
        # Both terms are too early if records are read late: the first term if no record was read in time, the second
        # term if polls attributed the next rebalance to this one.
        latest_ms = max(begun.latest_ms - offset_ms, until_ms - begun.lasted_ms)
        earliest_ms = begun.earliest_ms and begun.earliest_ms - offset_ms
        return TimeBounds(earliest_ms, latest_ms, begun.evidence)

    def is_another(self, generation: Generation, offset_ms: int) -> bool:
        """Whether the rebalance began after this record from the past, which therefore does not end it."""
        window = self.window(offset_ms, generation.timestamp_ms) if generation.replayed else None
        return window is not None and window.latest_ms > generation.timestamp_ms

    def lost_ms(self, offset_ms: int, since_ms: int) -> int:
        """Return the earliest start of a rebalance given up after ``since_ms``; `FOREVER_MS` if none was given up.

        The result is `UNKNOWN_MS` if the start is unknown. A late record may belong to that rebalance.
        """
        lost = self._lost
        if lost is None or lost.gone_due_ms is None or lost.gone_due_ms < since_ms:
            return FOREVER_MS
        if lost.evidence is Evidence.RECORD or lost.earliest_ms == UNKNOWN_MS:
            return lost.earliest_ms
        return lost.earliest_ms - lost.ahead_ms(offset_ms)

    def _find(self, member: Member, last: Generation, reports: MemberReports, episodes: Iterable[Episode]) -> _Stalled:
        knows = reports.knows(member.member_id)
        if knows and (self._had is None or self._had[0] is not last):
            self._had = last, _had_by(last.members, episodes)
        wanted = self._had[1][member.member_id] if knows and self._had else member.assigned
        span = ReportSpan(last.number, last.number, last.timestamp_ms, FOREVER_MS)
        if stops := reports.stops(member, span, wanted):
            own = pairs(member.assigned)
            return _Stalled(reported=len(stops.keys() & own), withheld=len(stops.keys() - own))
        silent = last.protocol is RebalanceProtocol.EAGER and not knows
        return _Stalled(silent=count_partitions(member.assigned) if silent else 0)


class _Stalled(NamedTuple):
    """Partitions of one member.

    ``reported``: partitions that the member owns and reported as stopped. ``withheld``: partitions that it reported as
    stopped and no longer owns. ``silent``: partitions that it must revoke and has not reported as stopped.
    """

    reported: int = 0
    silent: int = 0
    withheld: int = 0


def _had_by(members: Iterable[Member], episodes: Iterable[Episode]) -> Mapping[str, TopicPartitions]:
    """Return member id -> the partitions that it has, joined with, or had in a generation of ``episodes``."""
    had = {member.member_id: pairs(member.assigned) | pairs(member.owned) for member in members}
    for episode in episodes:
        for member in (*episode.members_before, *(each for step in episode.generations for each in step.members)):
            if member.member_id in had:
                had[member.member_id] |= pairs(member.assigned)
    return {member_id: topic_partitions(partitions) for member_id, partitions in had.items()}
