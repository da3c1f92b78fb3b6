"""A gateway of the model with the product's own locks, `SeatLocks`, and a helper group."""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.gateway.seats.locks import LockChange, MemberCheck, SeatLocks
from rebalance_agent.gateway.seats.locks.lock_notes import offer_note
from rebalance_agent.gateway.seats.seat import SeatState
from rebalance_agent.gateway.seats.seat_acts import ClaimLock, DescribeSeats, ReleaseLock
from support.seats.coordinator import NONE, UNKNOWN
from support.seats.gateway import ModelGateway


class SharingGateway(ModelGateway):
    """A `ModelGateway` that uses these locks, unless ``sees_others`` is false."""

    sees_others = True

    def _start(self):
        super()._start()
        ids = (f"{self.token}-{self.world.next_number()}" for _ in iter(int, 1))
        self.locks = SeatLocks(self.world.settings, ids, self.token, on=self.sees_others)

    def vacant(self):
        return {seat.instance_id for seat in self.seats.table if seat.state is SeatState.VACANT}

    def step(self):
        if self.up and not self.paused and self.seats is not None:
            self._tell(self.locks.due(self.world.now, self.vacant()))
        super().step()
        if self.up and not self.paused and self.seats is not None:
            self._tell(self.locks.waits(self.seats.held.waiting(self.world.now), self.world.now))

    def _confirm(self, now):
        if self.locks.fresh(now):
            self.seats.facts.lock_answered(now)

    def _taken(self, instance_id):
        self._tell(self.locks.taken(instance_id, self.world.now))

    def _act(self, act):
        now = self.world.now
        if isinstance(act, ClaimLock):
            self._tell(self.locks.claim(act.instance_id, now))
        elif isinstance(act, ReleaseLock):
            seat = self.seats.table.get(act.instance_id)
            note = offer_note(seat) if act.instance_id in self.vacant() else None
            self._tell(self.locks.release(act.instance_id, now, note))
        elif isinstance(act, DescribeSeats):
            if not self.cut_off and self.world.coordinator.available:
                roster = self._shared_roster()
                self.put(lambda: self._do(self.seats.described(roster, self.world.now)))
        else:
            super()._act(act)

    def _shared_roster(self):
        members = {one.instance_id: one.member_id for one in self.world.coordinator.members.values()}
        known = self.world.helper.described(self.world.now) or ()
        free, waiting = self.locks.described(known, members)
        return replace(self._roster(), free=free, waiting=waiting)

    def _tell(self, acts):
        """Send lock requests, whose responses arrive with the next step, and pass on changes."""
        for act in acts:
            if isinstance(act, LockChange):
                self._do(self.seats.lock_answered(act.instance_id, granted=act.granted, now=self.world.now))
                continue
            if isinstance(act, MemberCheck):
                error = self._still_there(act)
                self.put(lambda check=act, error=error: self._checked(check, error))
                continue
            answer = None if self.cut_off else self.world.helper.beat(act, self.world.now)
            self.put(lambda beat=act, answer=answer: self._tell(self.locks.answered(beat, answer, self.world.now)))

    def _still_there(self, check):
        return self.world.coordinator.heartbeat(self.world.now, check.member_id, -1)

    def _checked(self, check, error):
        now = self.world.now
        self._do(self.seats.kept(check.instance_id, check.member_id, error if error == UNKNOWN else NONE, now))
        self._tell(self.locks.checked(check.instance_id, error, now))
