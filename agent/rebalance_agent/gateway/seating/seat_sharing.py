"""Carries out the decisions of `SeatLocks` for one group: sends lock requests, and reports changed locks to seats."""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterable, Iterator, Mapping

from rebalance_agent.gateway.seating.connections.coordinator_requests import GroupRequests
from rebalance_agent.gateway.seating.connections.group_connections import GroupConnections
from rebalance_agent.gateway.seating.connections.lock_requests import LockRequests
from rebalance_agent.gateway.seating.leases.lease_requests import LeaseRequests
from rebalance_agent.gateway.seating.shared_parts import SharedParts
from rebalance_agent.gateway.seats.group_facts import FreeSeat, WaitingElsewhere
from rebalance_agent.gateway.seats.group_seats import GroupSeats
from rebalance_agent.gateway.seats.locks import LockBeat, LockChange, MemberCheck, SeatLocks
from rebalance_agent.gateway.seats.locks.lock_acts import UNUSABLE, LockAct, LockLoss
from rebalance_agent.gateway.seats.locks.lock_notes import offer_note
from rebalance_agent.gateway.seats.rules.seat_answers import FENCED
from rebalance_agent.gateway.seats.seat import SeatState
from rebalance_agent.gateway.seats.seat_acts import SeatAct
from rebalance_agent.groupprotocol.wire.error_codes import NO_ERROR
from rebalance_agent.model.reported.seat_event import Act, ActOutcome

__all__ = ["SeatSharing"]


class SeatSharing:
    """The seats of one group that other gateways offer, and those that this gateway offers to them.

    ``run`` carries out acts on the seats. If a method returns acts, the caller must carry them out. ``requests`` is
    None if this gateway does not share seats: it then requests no locks.
    """

    def __init__(
        self,
        group: str,
        seats: GroupSeats,
        connections: GroupConnections,
        group_requests: GroupRequests,
        shared: SharedParts,
        run: Callable[[Iterable[SeatAct]], None],
        requests: LockRequests | LeaseRequests | None,
    ) -> None:
        """Start without shared seats."""
        self._group, self._seats, self._connections, self._shared, self._run = group, seats, connections, shared, run
        self._clock, self._report, self._group_requests = shared.clock, shared.report, group_requests
        self._requests = requests
        self._locks = SeatLocks(seats.settings, _member_ids(), shared.token, on=self._requests is not None)
        self._claimed: set[str] = set()
        self._said: set[LockLoss] = set()
        self._look = False

    def fresh(self, now: float) -> bool:
        """See `SeatLocks`."""
        return self._locks.fresh(now)

    def claim(self, instance_id: str) -> list[SeatAct]:
        """Claim the lock of a seat for a newcomer."""
        acts = self._locks.claim(instance_id, self._clock.monotonic())
        if any(isinstance(act, LockBeat) for act in acts):
            self._claimed.add(instance_id)
        return self._done(acts)

    def release(self, instance_id: str) -> list[SeatAct]:
        """Release the lock of a seat that no newcomer takes, or that its consumer has left."""
        seat = self._seats.table.get(instance_id)
        vacant = seat is not None and seat.state is SeatState.VACANT
        note = offer_note(seat) if seat is not None and vacant else None
        return self._done(self._locks.release(instance_id, self._clock.monotonic(), note))

    def taken(self, instance_id: str) -> list[SeatAct]:
        """Record that a newcomer has taken the seat."""
        return self._done(self._locks.taken(instance_id, self._clock.monotonic()))

    def look(self) -> None:
        """Make `due` inform other gateways of the waiting newcomers, once for all changes before that call."""
        self._look = self._requests is not None

    def due(self) -> list[SeatAct]:
        """Carry out the acts that are due by now."""
        now, self._look = self._clock.monotonic(), False
        vacant = {seat.instance_id for seat in self._seats.table if seat.state is SeatState.VACANT}
        acts = self._locks.due(now, vacant)
        return self._done([*acts, *self._locks.waits(self._seats.held.waiting(now), now)])

    def next_due(self) -> float | None:
        """Return when to call `due` next; None: not before another input."""
        return -math.inf if self._look else self._locks.next_due()

    def stop(self) -> list[SeatAct]:
        """Stop sharing seats."""
        return self._done(self._locks.stop(self._clock.monotonic()))

    def go_on(self) -> None:
        """Share again after `stop`."""
        self._locks.go_on()

    async def elsewhere(self, members: Mapping[str, str]) -> tuple[tuple[FreeSeat, ...], tuple[WaitingElsewhere, ...]]:
        """Return the seats that other gateways offer, and the newcomers that wait there; both are empty if unknown.

        ``members``: instance id -> member id, for each member of the group that has a seat.
        """
        requests = self._requests
        if requests is None or not self._locks.usable(self._clock.monotonic()):
            return (), ()
        locks = await self._connections.by_connection(requests.describe)
        return self._locks.described(locks or (), members)

    def _done(self, acts: Iterable[LockAct]) -> list[SeatAct]:
        follows: list[SeatAct] = []
        for act in acts:
            if isinstance(act, LockChange):
                follows += self._changed(act)
            elif isinstance(act, MemberCheck):
                self._shared.start(self._check(act), Act.CLAIM, self._group)
            elif self._requests is not None:
                self._shared.start(self._send(self._requests, act), Act.CLAIM, self._group)
        return follows

    async def _check(self, check: MemberCheck) -> None:
        """Ask the coordinator whether a member is still in its seat."""
        names = self._group, check.member_id, check.instance_id
        error = await self._connections.by_connection(
            lambda connection: self._group_requests.check(connection, *names), check.instance_id
        )
        now = self._clock.monotonic()
        self._run(self._seats.kept(check.instance_id, check.member_id, error if error in FENCED else NO_ERROR, now))
        self._run(self._done(self._locks.checked(check.instance_id, error, now)))

    async def _send(self, requests: LockRequests | LeaseRequests, beat: LockBeat) -> None:
        """Send a request. If its connection ends before the answer, send it on another: it may be carried out twice."""
        answer = await self._connections.by_connection(
            lambda connection: requests.beat(connection, beat), beat.instance_id
        )
        self._run(self._done(self._locks.answered(beat, answer, self._clock.monotonic())))

    def _changed(self, change: LockChange) -> list[SeatAct]:
        name, loss = change.instance_id, change.loss
        if name in self._claimed:
            self._claimed.discard(name)
            outcomes = {None: ActOutcome.DONE, LockLoss.TAKEN: ActOutcome.REFUSED}
            facts = {"instance_id": name, "error": change.error}
            self._report.report(Act.CLAIM, outcomes.get(loss, ActOutcome.FAILED), self._group, **facts)
        if loss in UNUSABLE and loss not in self._said and self._requests is not None:
            self._said.add(loss)
            self._report.refused(self._group, self._requests.problem(loss, change.error))
        return self._seats.lock_answered(name, granted=change.granted, now=self._clock.monotonic())


def _member_ids() -> Iterator[str]:
    while True:
        yield str(uuid.uuid4())
