"""A rebalance that has begun and has no record yet: since when, and what stands still in it."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.group import GroupState, Member, RebalanceProtocol
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.tracking.completed_generation import Generation, TimeBounds
from rebalance_agent.tracking.member_reports import MemberReports, ReportSpan

__all__ = ["InProgress"]

_FOREVER_MS = 1 << 62


@dataclass(slots=True)
class _Begun:
    """The first sign of it. What a poll saw is in the observer's time, a record's in the coordinator's.

    ``offset_ms``: how far the observer's clock was ahead then, if that was known. ``shown_ms``: when the last poll was
    asked that showed it waiting for members, as each one before it had; ``unbroken``: the next one may be that.
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
        """How long members were waited for, at least: between two polls by one clock, however late records are."""
        return self.shown_ms - self.latest_ms

    def ahead_ms(self, offset_ms: int) -> int:
        """How far the clock was ahead; if it is ``offset_ms`` by now and that is more, it was set forth since then."""
        return offset_ms if self.offset_ms is None else min(offset_ms, self.offset_ms)

    def set_back(self, by_ms: int) -> None:
        """As of `InProgress`."""
        if self.evidence is not Evidence.RECORD:
            self.earliest_ms -= by_ms
            self.latest_ms -= by_ms
            self.shown_ms -= by_ms
            self.offset_ms = None if self.offset_ms is None else self.offset_ms - by_ms
        self.gone_due_ms = None if self.gone_due_ms is None else self.gone_due_ms - by_ms


class InProgress:
    """What runs in one group, if anything."""

    def __init__(self) -> None:
        """Begin with nothing running."""
        self.state: GroupState | None = None
        self._begun: _Begun | None = None
        self._lost: _Begun | None = None
        self._stalled: dict[str, int] = {}

    def __bool__(self) -> bool:
        """Whether a rebalance has begun."""
        return self._begun is not None

    @property
    def started_ms(self) -> int | None:
        """The earliest moment at which it can have begun."""
        return self._begun.earliest_ms if self._begun else None

    @property
    def gone_due_ms(self) -> int | None:
        """When to give it up, since polls no longer show it; None while they do."""
        return self._begun.gone_due_ms if self._begun else None

    @property
    def stalled(self) -> int:
        """Partitions that stand still: by their owners' word, or by the protocol's where these do not report."""
        return sum(self._stalled.values())

    def begin(
        self,
        state: GroupState,
        window: TimeBounds,
        last: Generation | None,
        log: MemberReports,
        offset_ms: int | None = None,
    ) -> bool:
        """The group is seen rebalancing, for the first time or again; True if that changes anything.

        ``offset_ms``: how far the observer's clock is ahead now, if that is known.
        """
        changed = state is not self.state or self._begun is None
        self.state = state
        if self._begun is None:
            waits = state is GroupState.PREPARING_REBALANCE and window.evidence is Evidence.LIST
            self._begun = _Begun(
                window.earliest_ms, window.latest_ms, window.evidence, offset_ms, window.latest_ms, unbroken=waits
            )
            for member in last.members if last else ():
                self._stalled[member.member_id] = _stalled(member, last, log) if last else 0
        self._begun.gone_due_ms = None
        return changed

    def show(self, state: GroupState, asked_ms: int, *, leaps: bool) -> None:
        """A poll shows it again; what it shows after another state, or a gap, may be another rebalance.

        ``leaps``: the observer's clock may have been set forth since the poll before.
        """
        if begun := self._begun:
            waits = state is GroupState.PREPARING_REBALANCE and begun.gone_due_ms is None and not leaps
            begun.unbroken = begun.unbroken and waits
            begun.shown_ms = max(begun.shown_ms, asked_ms) if begun.unbroken else begun.shown_ms

    def hear(self, member_id: str, last: Generation | None, log: MemberReports) -> bool:
        """A member reported something; True if that changes what stands still."""
        member = next((each for each in last.members if each.member_id == member_id), None) if last else None
        if not self._begun or last is None or member is None:
            return False
        stalled = _stalled(member, last, log)
        changed = stalled != self._stalled.get(member_id)
        self._stalled[member_id] = stalled
        return changed

    def miss(self, due_ms: int) -> None:
        """A poll no longer shows it: its record is on the way, or there will be none."""
        if self._begun and self._begun.gone_due_ms is None:
            self._begun.gone_due_ms = due_ms

    def set_back(self, by_ms: int) -> None:
        """The observer's clock was set back by so much: what its polls saw was so much earlier by it."""
        for begun in filter(None, (self._begun, self._lost)):
            begun.set_back(by_ms)

    def end(self) -> None:
        """There is a record."""
        self.state = self._begun = self._lost = None
        self._stalled = {}

    def give_up(self) -> None:
        """Nothing is to be expected any more; should its record come all the same, it is known when it began."""
        lost = self._begun
        self.end()
        self._lost = lost

    def window(self, offset_ms: int, until_ms: int) -> TimeBounds | None:
        """When it began, in the coordinator's time.

        ``offset_ms``: how far the observer's clock is ahead now, at most. ``until_ms``: the end of its join phase.
        """
        begun = self._begun
        if begun is None:
            return None
        if begun.evidence is Evidence.RECORD:
            return TimeBounds(begun.earliest_ms, begun.latest_ms, begun.evidence)
        offset_ms = begun.ahead_ms(offset_ms)
        # Both are too early where records are read late: the one as long as none was read in time, the other if polls
        # took the next rebalance for this one.
        latest_ms = max(begun.latest_ms - offset_ms, until_ms - begun.lasted_ms)
        return TimeBounds(begun.earliest_ms - offset_ms, latest_ms, begun.evidence)

    def is_another(self, generation: Generation, offset_ms: int) -> bool:
        """Whether it was seen to run only after this old record: it is another rebalance. ``offset_ms``: as above."""
        window = self.window(offset_ms, generation.timestamp_ms) if generation.replayed else None
        return window is not None and window.latest_ms > generation.timestamp_ms

    def lost_ms(self, offset_ms: int, since_ms: int) -> int:
        """When one began, at the earliest, that was given up after ``since_ms``: a record may be of that one."""
        lost = self._lost
        if lost is None or lost.gone_due_ms is None or lost.gone_due_ms < since_ms:
            return _FOREVER_MS
        return lost.earliest_ms - (0 if lost.evidence is Evidence.RECORD else lost.ahead_ms(offset_ms))


def _stalled(member: Member, last: Generation, log: MemberReports) -> int:
    span = ReportSpan(last.number, last.number, last.timestamp_ms, _FOREVER_MS)
    if stops := log.stops(member, span):
        return len(stops)
    silent = last.protocol is RebalanceProtocol.EAGER and not log.knows(member.member_id)
    return count_partitions(member.assigned) if silent else 0
