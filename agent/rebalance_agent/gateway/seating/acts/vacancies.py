"""Counts the costs and savings of seats: partitions stall while a seat is vacant; a handover can end a stall early."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rebalance_agent.clock import Clock
from rebalance_agent.gateway.seating.act_report import ActReport
from rebalance_agent.gateway.seats.group_facts import GroupPhase
from rebalance_agent.gateway.seats.group_seats import GroupSeats
from rebalance_agent.gateway.seats.outcomes.spared_stalls import KilledMember, SparedStalls
from rebalance_agent.gateway.seats.rules.act_reasons import GiveUpReason
from rebalance_agent.gateway.seats.seat import Seat, SeatState
from rebalance_agent.model.reported.seat_event import Act, ActOutcome

__all__ = ["Vacancies"]


@dataclass(frozen=True, slots=True)
class _Vacancy:
    """A vacant seat. ``killed``: the seat's member, if the member's process closed all connections without leaving."""

    partitions: int
    since: float
    killed: KilledMember | None


class Vacancies:
    """The vacant seats of one group, with the partitions of their last members."""

    def __init__(self, group: str, seats: GroupSeats, clock: Clock, report: ActReport) -> None:
        """Start without vacant seats."""
        self._group, self._seats, self._clock, self._report = group, seats, clock, report
        self._vacant: dict[str, _Vacancy] = {}
        self._removing: dict[str, KilledMember] = {}
        self._spared = SparedStalls()

    def assigned(self, member_id: str, partitions: int) -> None:
        """Record that a member was assigned this number of partitions."""
        seat = self._seats.table.of_member(member_id)
        if seat is not None:
            seat.partitions = partitions

    def settle(self) -> None:
        """Record the seats that are vacant now, and count the vacancies that have ended."""
        now, table = self._clock.monotonic(), self._seats.table
        for seat in table:
            if seat.free:
                self._begin(seat, seat.vacant_since, killed=seat.state is SeatState.DISCONNECTED)
        for instance_id in [*self._vacant]:
            current = table.get(instance_id)
            if current is None or not (current.free or current.state is SeatState.JOINING):
                self._end(instance_id, current, now)
        self._removing = {name: killed for name, killed in self._removing.items() if table.of_member(name) is not None}

    def succeeded(self, processes: Iterable[int]) -> None:
        """Record that these processes have ended, since a newcomer of the same client has arrived."""
        for process in processes:
            for seat in self._seats.table.of_process(process):
                if seat.state in (SeatState.OCCUPIED, SeatState.DISCONNECTED):
                    self._begin(seat, self._clock.monotonic(), killed=True)

    def taken(self, instance_id: str, member_id: str, *, stable: bool) -> None:
        """Process the handover of a seat to ``member_id``; ``stable``: the group was stable and need not rebalance."""
        if instance_id in self._vacant:
            now, killed = self._clock.monotonic(), self._vacant[instance_id].killed
            self._end(instance_id, None, now)
            if killed is not None and stable:
                self._spared.ended(killed, now, heir=member_id)

    def removed(self, member_id: str) -> None:
        """Record that the coordinator removed the member of a seat that was given up."""
        killed = self._removing.pop(member_id, None)
        if killed is not None:
            self._spared.ended(killed, self._clock.monotonic())

    def heard(self, member_id: str) -> None:
        """Record that a client sends requests as this member, so that it was not killed."""
        self._report.heard(self._group, member_id)
        stall = self._spared.alive(member_id)
        if stall is not None and not stall.heir:
            self._report.report(Act.GIVE_UP, ActOutcome.WRONG, self._group, member_id=member_id)

    def handover_wrong(self, member_id: str) -> None:
        """Record that the group rebalanced after ``member_id`` had taken a seat."""
        self._spared.handover_wrong(member_id)

    def due(self, now: float) -> None:
        """Count the stalls that are now known to have been avoided."""
        for stall in self._spared.known(now):
            act, member_id = (Act.HANDOVER, stall.heir) if stall.heir else (Act.GIVE_UP, stall.killed.member_id)
            if not stall.heir:
                self._report.report(act, ActOutcome.RIGHT, self._group, member_id=member_id)
            self._report.stall_spared(act, self._group, member_id, stall.partition_seconds)

    def next_due(self) -> float | None:
        """Return when to call `due` next; None if no stall is undecided."""
        return self._spared.next_due()

    def _begin(self, seat: Seat, since: float, *, killed: bool) -> None:
        if seat.instance_id not in self._vacant:
            self._vacant[seat.instance_id] = _Vacancy(seat.partitions, since, _killed(seat) if killed else None)

    def _end(self, instance_id: str, seat: Seat | None, now: float) -> None:
        """Count a vacancy that has ended; ``seat``: the seat's current state, None if irrelevant."""
        vacancy = self._vacant.pop(instance_id)
        self._report.counts.kept(vacancy.partitions * max(0.0, now - vacancy.since), predicted=False)
        given_up = seat is not None and seat.state is SeatState.GIVEN_UP and seat.given_up_for is GiveUpReason.CRASHED
        # While a group rebalances, it is unknown how long the other members would have waited for this one.
        if vacancy.killed is not None and given_up and self._seats.facts.phase is GroupPhase.STABLE:
            self._removing[vacancy.killed.member_id] = vacancy.killed


def _killed(seat: Seat) -> KilledMember | None:
    if seat.profile is None:
        return None
    rebalance_seconds = seat.profile.rebalance_timeout_ms / 1000
    return KilledMember(seat.member_id, seat.partitions, seat.heard_at, seat.session_seconds, rebalance_seconds)
