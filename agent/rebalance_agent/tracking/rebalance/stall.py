"""The stall of an episode: how long its partitions were not consumed, exact where members report, else bounded.

A partition is stalled from the moment when its owner stopped consuming it until the new owner's assigned callback
returned. Under an eager protocol all partitions stop; under a cooperative one, those that move or lost their owner.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise

from rebalance_agent.model.episode import Basis, Evidence, Stall
from rebalance_agent.model.generation_diff import Partition, owners
from rebalance_agent.model.group import GroupType, Member, RebalanceProtocol
from rebalance_agent.model.partitions import pairs
from rebalance_agent.tracking.completed_generation import (
    FOREVER_MS,
    Departure,
    Episode,
    Generation,
    LastSeen,
    PartitionHandover,
    TimeBounds,
)
from rebalance_agent.tracking.member_reports import MemberReports, ReportSpan
from rebalance_agent.tracking.rebalance.coordinators import last_contact_ms
from rebalance_agent.tracking.rebalance.diff_cache import difference

__all__ = ["STALL_MAX_MS", "measure_stall"]

STALL_MAX_MS = 86_400_000
"""Longest stall (ms) of a partition: one that seems to exceed a day counts as a day, since a clock was probably set."""


@dataclass(frozen=True, slots=True)
class _Moment:
    """A moment between two bounds; ``exact`` if a member reported it.

    ``uncertain_ms``: the part of the range before the rebalance in which the partition may still have been consumed. A
    member that departed without a report and without a commit may have failed a session timeout ago, or left just then.
    """

    earliest_ms: int
    latest_ms: int
    exact: bool
    uncertain_ms: int = 0


@dataclass(frozen=True, slots=True)
class _PartitionStall:
    lower_ms: int
    upper_ms: int
    exact: bool
    uncertain_ms: int


class _Unknown(Exception):  # noqa: N818 - not an error: a moment without bounds
    pass


def measure_stall(episode: Episode, reports: MemberReports) -> Stall | None:
    """Return the stall of a closed episode; None if its start, the state before, or the assignment is unknown.

    With ``basis`` bound, ``seconds`` is an upper bound. So is ``partition_seconds``, except that it leaves out the
    session timeout of members that departed without a report or a commit: otherwise every clean leave in a group that
    does not report would cost its error budget 45 s per partition.
    """
    if not (episode.known and episode.last.members and episode.last.value.protocol_type == "consumer"):
        return None
    try:
        stalls = list(_partition_stalls(episode, reports))
    except _Unknown:
        return None
    return Stall(
        seconds=max((stall.upper_ms for stall in stalls), default=0) / 1000,
        lower_seconds=max((stall.lower_ms for stall in stalls), default=0) / 1000,
        partition_seconds=sum(stall.upper_ms - stall.uncertain_ms for stall in stalls) / 1000,
        basis=Basis.EXACT if all(stall.exact for stall in stalls) else Basis.BOUND,
    )


def _partition_stalls(episode: Episode, reports: MemberReports) -> Iterator[_PartitionStall]:
    idle: dict[Partition, _Moment] = {}
    for before, generation in episode.steps():
        step = _Step(episode, before, generation, reports)
        # If several members share a partition (share groups), the staying ones decide when it stopped.
        had = owners(before.value if before else None, {member.member_id for member in generation.members})
        has = owners(generation.value)
        kept = set() if step.everything_stops else _kept(before, generation)
        for partition in sorted((had.keys() | has.keys() | idle.keys()) - kept):
            old, new = had.get(partition), has.get(partition)
            stopped = idle.pop(partition, None)
            handovers = step.handovers(partition)
            if old:
                stopped = step.stopped(partition, old, handovers[0])
            elif stopped is None:
                stopped = step.appeared(handovers[0])
            for handover, following in pairwise(handovers):
                yield _between(stopped, _given(handover))
                stopped = _handed_on(handover, following)
            if new is None:
                idle[partition] = stopped
            else:
                yield _between(step.bounded(stopped), step.resumed(partition, new, handovers[-1]))


def _kept(before: Generation | None, after: Generation) -> set[Partition]:
    """Return the partitions that a member kept without revoking them; in a share group it may be one of several.

    Partitions that it revoked and got back are not included.
    """
    handovers = after.handovers.items()
    back = {
        partition
        for partition, handover in handovers
        if handover.earlier or (handover.left_unowned and handover.given_ms is not None)
    }
    had = {member.member_id: member for member in before.members} if before else {}
    had = {name: member for name, member in had.items() if name not in after.restarting}
    return {
        partition
        for member in after.members
        if member.member_id in had
        for partition in pairs(member.assigned) & pairs(had[member.member_id].assigned)
    } - back


def _given(handover: PartitionHandover) -> _Moment:
    """Return when the partition was assigned to its new owner."""
    at_ms = handover.given_ms or 0
    return _Moment(at_ms, at_ms, exact=False)


def _handed_on(handover: PartitionHandover, following: PartitionHandover) -> _Moment:
    """Return when the owner after ``handover`` stopped; if no request was recorded, any time while it owned it."""
    asked_ms, released_ms = following.asked_ms, following.released_ms or 0
    return _Moment((handover.given_ms or 0) if asked_ms is None else asked_ms, released_ms, exact=False)


def _between(stopped: _Moment, resumed: _Moment) -> _PartitionStall:
    lower = max(0, resumed.earliest_ms - stopped.latest_ms)
    lower = min(lower, STALL_MAX_MS)
    upper = min(max(lower, resumed.latest_ms - stopped.earliest_ms), STALL_MAX_MS)
    return _PartitionStall(lower, upper, stopped.exact and resumed.exact, min(stopped.uncertain_ms, upper - lower))


class _Step:
    """One generation of the episode: when each of its partitions stopped and resumed."""

    def __init__(
        self, episode: Episode, before: Generation | None, generation: Generation, reports: MemberReports
    ) -> None:
        self._fresh = episode.fresh and not (before and owners(before.value))
        self._first = episode.generations[0]
        self._generation = generation
        self._reports = reports
        self._span = ReportSpan.between(before, episode.last) if before else None
        self._alive = {member.member_id for member in generation.members}
        self._stops: dict[str, dict[Partition, int]] = {}
        self._resumes: dict[str, dict[Partition, int]] = {}
        self.everything_stops = generation.protocol is not RebalanceProtocol.COOPERATIVE and not generation.returned
        self._began_it = _one_member_departed(before, generation)

    def handovers(self, partition: Partition) -> tuple[PartitionHandover, ...]:
        """Return the recorded handovers in which the partition was stalled; at least one, which may be empty."""
        handover = self._generation.handovers.get(partition, _NO_HANDOVER)
        return handover.earlier if handover.earlier and not handover.left_unowned else (*handover.earlier, handover)

    def stopped(self, partition: Partition, owner: Member, handover: PartitionHandover) -> _Moment:
        """Return when ``owner``, of the generation before, stopped consuming the partition of this ``handover``."""
        if owner.member_id not in self._stops:
            self._stops[owner.member_id] = self._reports.stops(owner, self._span) if self._span else {}
        at_ms = self._stops[owner.member_id].get(partition)
        if at_ms is not None:
            return _Moment(at_ms, at_ms, exact=True)
        generation = self._generation
        if handover.asked_ms is not None and handover.released_ms is not None:
            return _Moment(handover.asked_ms, handover.released_ms, exact=False)
        if handover.released_ms is not None:
            if owner.member_id in self._alive:
                return _Moment(self._start().earliest_ms, handover.released_ms, exact=False)
            return self._last_active(owner, handover.released_ms, handover.released_ms)
        if generation.returned:
            # A member away for longer than its session timeout would have been removed.
            return self._last_active(owner, generation.timestamp_ms, generation.timestamp_ms)
        if owner.member_id not in self._alive:
            start = self._start()
            latest_ms = start.latest_ms if self._began_it else max(start.latest_ms, _joined_ms(generation))
            return self._last_active(owner, start.earliest_ms, latest_ms)
        if self.everything_stops:
            start = self._start()
            return _Moment(start.earliest_ms, _joined_ms(generation), exact=False)
        # It consumes until it gets its new assignment; `bounded` sets the upper bound: when it has rejoined.
        return _Moment(generation.timestamp_ms, FOREVER_MS, exact=False)

    def appeared(self, handover: PartitionHandover) -> _Moment:
        """Return when a partition without an owner before could first have been consumed."""
        if not self._fresh and handover.released_ms is not None:
            # Revoked in an earlier episode, for a static member that was away, or in this one, by an interim owner.
            return _Moment(
                handover.released_ms if handover.asked_ms is None else handover.asked_ms,
                handover.released_ms,
                exact=False,
            )
        if not self._fresh:
            at_ms = self._shown_ms(handover)
            return _Moment(at_ms, at_ms, exact=True)
        start = self._first.start
        if start is None:
            raise _Unknown
        return _Moment(start.earliest_ms, start.latest_ms, exact=start.evidence is Evidence.RECORD)

    def bounded(self, stopped: _Moment) -> _Moment:
        """Bound a stop that an earlier generation requested: it happened before this one's join phase ended."""
        if stopped.latest_ms < FOREVER_MS:
            return stopped
        return _Moment(stopped.earliest_ms, _joined_ms(self._generation), exact=False)

    def resumed(self, partition: Partition, owner: Member, handover: PartitionHandover) -> _Moment:
        """Return when ``owner``, of this generation, could consume the partition after this ``handover``."""
        if owner.member_id not in self._resumes:
            self._resumes[owner.member_id] = self._reports.resumes(owner.member_id, self._generation)
        at_ms = self._resumes[owner.member_id].get(partition)
        if at_ms is not None:
            return _Moment(at_ms, at_ms, exact=True)
        resumed_ms = self._generation.timestamp_ms if handover.given_ms is None else handover.given_ms
        return _Moment(resumed_ms, resumed_ms, exact=False)

    def _last_active(self, owner: Member, earliest_ms: int, latest_ms: int) -> _Moment:
        """Return when a departed member stopped: at most a session timeout before its coordinator noticed.

        A commit shows that it was alive. That it worked as well is certain only until the commit before the last one: a
        member that leaves cleanly commits at the end of its revoked callback, long after it stopped working.
        """
        expired_ms = last_contact_ms(earliest_ms, owner.session_timeout_ms, self._generation.coordinator_changes)
        last_seen = self._generation.last_seen.get(owner.member_id, LastSeen())
        alive_ms = max(
            (active_ms for active_ms in (last_seen.contact_ms, last_seen.worked_ms) if active_ms is not None),
            default=expired_ms,
        )
        stopped_ms = min(max(expired_ms, alive_ms), latest_ms)
        worked = last_seen.worked_ms is not None and last_seen.worked_ms >= expired_ms
        uncertain = not worked and self._departure(owner) is Departure.UNKNOWN
        return _Moment(
            stopped_ms, latest_ms, exact=False, uncertain_ms=max(0, earliest_ms - stopped_ms) if uncertain else 0
        )

    def _shown_ms(self, handover: PartitionHandover) -> int:
        """Return when a record first showed a new partition: as a member's target, or as its assignment."""
        generation = self._generation
        if generation.group_type is GroupType.CLASSIC or generation.joined_ms is None:
            shown_ms = generation.timestamp_ms
        else:
            shown_ms = generation.joined_ms
        return shown_ms if handover.given_ms is None else min(shown_ms, handover.given_ms)

    def _departure(self, owner: Member) -> Departure:
        return (
            self._reports.departure(owner, self._span, self._generation.departures) if self._span else Departure.UNKNOWN
        )

    def _start(self) -> TimeBounds:
        """Return when members were asked to rejoin.

        A new coordinator knows of no classic rebalance that was running: members that had not rejoined yet went on
        consuming until it began anew.
        """
        generation = self._generation
        start = generation.start
        if start is None:
            raise _Unknown
        anew = any(change.until_ms >= start.earliest_ms for change in generation.coordinator_changes)
        if anew and start.evidence is not Evidence.RECORD:
            return replace(start, latest_ms=max(start.latest_ms, _joined_ms(generation)))
        return start


def _one_member_departed(before: Generation | None, generation: Generation) -> bool:
    """Whether nothing but the departure of one member can have begun the rebalance.

    Else a departed member may have consumed until the end of the join phase, in a rebalance that others began.
    """
    if before is None or before.topics != generation.topics:
        return False
    diff = difference(before, generation)
    return len(diff.gone) == 1 and not (diff.joined or diff.replaced or diff.resubscribed)


_NO_HANDOVER = PartitionHandover()


def _joined_ms(generation: Generation) -> int:
    return generation.timestamp_ms if generation.joined_ms is None else generation.joined_ms
