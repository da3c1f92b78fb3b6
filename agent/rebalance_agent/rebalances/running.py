"""A rebalance that has begun and has no record yet: since when, and what stands still in it."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.group import ClassicMember, GroupState, RebalanceProtocol
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.rebalances.generations import Generation, Window
from rebalance_agent.rebalances.memberlog import MemberLog, Span

__all__ = ["Running"]

_FOREVER_MS = 1 << 62


@dataclass(slots=True)
class _Begun:
    """The first sign of it. What a poll saw is in the observer's time, a record's in the coordinator's.

    ``offset_ms``: how far the observer's clock was ahead then, if that was known.
    """

    earliest_ms: int
    latest_ms: int
    evidence: Evidence
    offset_ms: int | None
    gone_due_ms: int | None = None


class Running:
    """What runs in one group, if anything."""

    def __init__(self) -> None:
        """Begin with nothing running."""
        self.state: GroupState | None = None
        self._begun: _Begun | None = None
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
        self, state: GroupState, window: Window, last: Generation | None, log: MemberLog, offset_ms: int | None = None
    ) -> bool:
        """The group is seen rebalancing, for the first time or again; True if that changes anything.

        ``offset_ms``: how far the observer's clock is ahead now, if that is known.
        """
        changed = state is not self.state or self._begun is None
        self.state = state
        if self._begun is None:
            self._begun = _Begun(window.earliest_ms, window.latest_ms, window.evidence, offset_ms)
            for member in last.members if last else ():
                self._stalled[member.member_id] = _stalled(member, last, log) if last else 0
        self._begun.gone_due_ms = None
        return changed

    def hear(self, member_id: str, last: Generation | None, log: MemberLog) -> bool:
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
        if self._begun and self._begun.evidence is not Evidence.RECORD:
            self._begun.earliest_ms -= by_ms
            self._begun.latest_ms -= by_ms
            if self._begun.offset_ms is not None:
                self._begun.offset_ms -= by_ms
        if self._begun and self._begun.gone_due_ms is not None:
            self._begun.gone_due_ms -= by_ms

    def end(self) -> None:
        """There is a record, or nothing is to be expected any more."""
        self.state = self._begun = None
        self._stalled = {}

    def window(self, offset_ms: int) -> Window | None:
        """When it began, in the coordinator's time; ``offset_ms`` is how far the observer's clock is ahead now."""
        begun = self._begun
        if begun is None:
            return None
        if begun.evidence is Evidence.RECORD:
            offset_ms = 0
        elif begun.offset_ms is not None:
            offset_ms = min(offset_ms, begun.offset_ms)  # more by now: it was set forth since then
        return Window(begun.earliest_ms - offset_ms, begun.latest_ms - offset_ms, begun.evidence)


def _stalled(member: ClassicMember, last: Generation, log: MemberLog) -> int:
    span = Span(last.number, last.number, last.timestamp_ms, _FOREVER_MS)
    if stops := log.stops(member, span):
        return len(stops)
    silent = last.protocol is RebalanceProtocol.EAGER and not log.knows(member.member_id)
    return count_partitions(member.assigned) if silent else 0
