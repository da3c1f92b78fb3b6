"""Keeps the seats of departed consumers, and gives them up.

In a rebalance the group waits for a vacant seat's member until its session ends, and each heartbeat for the member
extends the session. At the first sign of a rebalance the seat is therefore given up: from then on, only a LeaveGroup is
sent for it.
"""

from __future__ import annotations

import math

from rebalance_agent.gateway.seats.rules.act_reasons import GiveUpReason
from rebalance_agent.gateway.seats.rules.join_profile import ProfileDifference
from rebalance_agent.gateway.seats.rules.seat_answers import FENCED
from rebalance_agent.gateway.seats.rules.seat_settings import SeatSettings
from rebalance_agent.gateway.seats.rules.wait_times import EPOCH_KEPT_SECONDS
from rebalance_agent.gateway.seats.seat import Seat, SeatState, SeatTable
from rebalance_agent.gateway.seats.seat_acts import ContinueSeat, GiveUpSeat, KeepSeat, ReleaseLock, SeatAct
from rebalance_agent.groupprotocol.wire.error_codes import COORDINATOR_MOVED, NO_ERROR, REBALANCE_IN_PROGRESS

__all__ = ["SeatKeeper"]


class SeatKeeper:
    """The vacant, disconnected and given-up seats of one group."""

    def __init__(self, table: SeatTable, settings: SeatSettings, *, by_heartbeats: bool = True) -> None:
        """Keep seats of ``table``; ``by_heartbeats`` is False if heartbeats do not extend a vacant member's session.

        This is the case in KIP-848 groups: there the member stays until its session ends, and others never wait for it.
        """
        self._table, self._settings, self._by_heartbeats = table, settings, by_heartbeats

    def vacate(self, seat: Seat, until: float, now: float) -> list[SeatAct]:
        """Keep a seat, whose consumer regards itself as having left, until ``until`` for a newcomer of any gateway."""
        if not self._by_heartbeats:
            until = max(now, min(until, seat.heard_at + EPOCH_KEPT_SECONDS))
        seat.state, seat.free_at, seat.vacant_since, seat.vacant_until = SeatState.VACANT, now, now, until
        seat.next_at = min(until, now + self._settings.keeper_seconds)
        return self._release(seat)

    def give_up(self, seat: Seat, reason: GiveUpReason | ProfileDifference, now: float) -> list[SeatAct]:
        """Send a LeaveGroup for the seat's last member; repeat it until it is answered or the session ends."""
        seat.state, seat.given_up_for = SeatState.GIVEN_UP, reason
        seat.next_at, seat.expires_at = now + self._settings.keeper_seconds, now + seat.session_seconds
        return [GiveUpSeat(seat.instance_id, seat.member_id, reason)]

    def kept(self, instance_id: str, member_id: str, error: int | None, now: float) -> list[SeatAct]:
        """Process the answer to a heartbeat for a vacant seat; ``error``: None if there was no answer."""
        seat = self._table.get(instance_id)
        if seat is None or seat.member_id != member_id or seat.state is not SeatState.VACANT:
            return []
        if error == NO_ERROR and seat.free_at == math.inf:
            seat.free_at = now
            return [ContinueSeat(instance_id), ReleaseLock(instance_id)]
        if error in (NO_ERROR, None) or error in COORDINATOR_MOVED:
            return []
        if error in FENCED:
            return self.forget(seat)
        reason = GiveUpReason.REBALANCE if error == REBALANCE_IN_PROGRESS else GiveUpReason.REFUSED
        return self.give_up(seat, reason, now)

    def given_up(self, instance_id: str, member_id: str, error: int | None) -> list[SeatAct]:
        """Process the answer to a seat's LeaveGroup: drop the seat unless the request must be repeated."""
        seat = self._table.get(instance_id)
        if seat is None or seat.member_id != member_id or seat.state is not SeatState.GIVEN_UP:
            return []
        return self.forget(seat) if error == NO_ERROR or error in FENCED else []

    def rebalancing(self, now: float) -> list[SeatAct]:
        """Give up all vacant seats, since the group rebalances. Disconnected consumers may be alive and may rejoin."""
        vacant = [seat for seat in self._table if seat.state is SeatState.VACANT]
        return [act for seat in vacant for act in self.give_up(seat, GiveUpReason.REBALANCE, now)]

    def connections_closed(self, process: int, now: float) -> None:
        """Record that a process has closed all its connections."""
        for seat in self._table.of_process(process):
            if seat.state is SeatState.OCCUPIED:
                seat.state, seat.vacant_since = SeatState.DISCONNECTED, now
                seat.free_at = seat.next_at = now + self._settings.reconnect_seconds
                seat.vacant_until = now + self._settings.crash_window_seconds
        self.ended(process)

    def succeeded(self, process: int, now: float) -> None:
        """Record that a newcomer of the same client arrived: the members of ``process`` are gone, their seats free."""
        self.connections_closed(process, now)
        for seat in self._table.of_process(process):
            if seat.state is SeatState.DISCONNECTED:
                seat.free_at = now

    def ended(self, process: int) -> None:
        """Record that a process has ended after its members left."""
        for seat in self._table.of_process(process):
            if seat.state is SeatState.VACANT:
                seat.process = None

    def connections_opened(self, process: int) -> None:
        """Record that a process is connected again, which proves that it was alive all the time."""
        for seat in self._table.of_process(process):
            self.seen(seat)

    def seen(self, seat: Seat, process: int | None = None) -> None:
        """Record that the consumer in this seat sends requests; ``process``: its process now, None if unknown."""
        if seat.state is SeatState.DISCONNECTED:
            seat.state = SeatState.OCCUPIED
        if process is not None and seat.state is SeatState.OCCUPIED:
            seat.process = process

    def due(self, now: float) -> list[SeatAct]:
        """Return the acts that are due by ``now``."""
        return [act for seat in self._table if seat.next_at <= now for act in self._due(seat, now)]

    def next_due(self) -> float | None:
        """Return when to call `due` next; None if no act is planned."""
        return min(
            (seat.next_at for seat in self._table if seat.free or seat.state is SeatState.GIVEN_UP), default=None
        )

    def forget(self, seat: Seat) -> list[SeatAct]:
        """Remove a seat that no longer exists or that belongs to another gateway."""
        self._table.remove(seat.instance_id)
        return self._release(seat)

    def forget_expired(self, now: float) -> list[SeatAct]:
        """Drop the seats whose last members' sessions have ended."""
        return [act for seat in self._table if seat.member_id and seat.expired(now) for act in self.lost(seat)]

    def lost(self, seat: Seat) -> list[SeatAct]:
        """Remove a seat whose last member left the group, unless a successor is joining with the seat."""
        return [] if seat.state is SeatState.JOINING else self.forget(seat)

    def _due(self, seat: Seat, now: float) -> list[SeatAct]:
        if seat.state is SeatState.DISCONNECTED:
            if now >= seat.vacant_until:
                return self.give_up(seat, GiveUpReason.CRASHED, now)
            seat.next_at = seat.vacant_until
            return []
        if seat.state is SeatState.GIVEN_UP:
            if now >= seat.expires_at:
                return self.forget(seat)
            seat.next_at = now + self._settings.keeper_seconds
            return [GiveUpSeat(seat.instance_id, seat.member_id, seat.given_up_for or GiveUpReason.REFUSED)]
        if seat.state is not SeatState.VACANT:
            return []
        if now >= seat.vacant_until:
            return self.give_up(seat, GiveUpReason.NO_SUCCESSOR, now)
        if seat.process is not None and now >= seat.vacant_since + self._settings.leave_close_seconds:
            return self.give_up(seat, GiveUpReason.NOT_ENDING, now)
        seat.next_at = min(seat.vacant_until, now + self._settings.keeper_seconds)
        until = now + self._settings.keeper_seconds
        return [KeepSeat(seat.instance_id, seat.member_id, seat.generation, until)]

    def _release(self, seat: Seat) -> list[SeatAct]:
        locked, seat.locked = seat.locked, False
        return [ReleaseLock(seat.instance_id)] if locked else []
