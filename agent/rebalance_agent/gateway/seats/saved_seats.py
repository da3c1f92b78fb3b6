"""Saves the seats of one group for a restart of the gateway, and restores them afterwards.

Losing saved seats is safe: members stay static and are known by their ids, and the coordinator removes the member of a
vacant seat when its session ends. Saved seats may be out of date, so a seat counts again only once the coordinator has
accepted a request of its member. Until then no newcomer waits for the seat or takes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from rebalance_agent.gateway.seats.rules.join_profile import JoinProfile
from rebalance_agent.gateway.seats.rules.seat_settings import SeatSettings
from rebalance_agent.gateway.seats.seat import Seat, SeatState, SeatTable
from rebalance_agent.model.group import GroupType

__all__ = ["RestoredSeats", "SavedSeat", "save"]

RESTORED_SECONDS_MAX = 300.0
"""Longest wait (seconds) for a request of a restored seat's member; a session is 45 s by default."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedSeat:
    """A saved seat. ``kept_seconds``: for how much longer the seat is kept if vacant; 0 if it was given up.

    ``group_type``: the protocol of the group. ``partitions``: the member's number of partitions; 0 if unknown.
    """

    instance_id: str
    member_id: str
    generation: int
    version: int
    leads: bool
    returned: bool
    profile: JoinProfile
    vacant: bool
    kept_seconds: float
    group_type: GroupType = GroupType.CLASSIC
    partitions: int = 0


def save(table: SeatTable, now: float, group_type: GroupType) -> tuple[SavedSeat, ...]:
    """Return the seats with a member. A seat with an unanswered JoinGroup is not saved: its member is unknown."""
    seats = ((seat, seat.profile) for seat in table if seat.state is not SeatState.JOINING)
    return tuple(_saved(seat, profile, now, group_type) for seat, profile in seats if profile is not None)


class RestoredSeats:
    """The restored seats of one group whose members the coordinator has not confirmed yet."""

    def __init__(self, table: SeatTable, settings: SeatSettings) -> None:
        """Start without restored seats. Vacant and confirmed seats are added to ``table``."""
        self._table, self._settings = table, settings
        self._seats: dict[str, SavedSeat] = {}
        self._until: dict[str, float] = {}

    def __len__(self) -> int:
        """The number of unconfirmed seats."""
        return len(self._seats)

    def add(self, saved: Iterable[SavedSeat], elapsed_seconds: float, now: float) -> None:
        """Restore seats ``elapsed_seconds`` after they were saved.

        Vacant seats are kept for their remaining time, since no other gateway keeps them. If the clock went backwards,
        this time counts as over. Consumers of the other seats may be alive, so the gateway sends no request for these
        seats: without its consumer, a seat's session ends. Sessions of vacant KIP-848 seats also end, since no
        heartbeat confirms them.
        """
        for one in saved:
            if len(self._table) + len(self._seats) >= self._settings.seats_max:
                return
            if not one.vacant:
                session_seconds = min(one.profile.session_timeout_ms / 1000, RESTORED_SECONDS_MAX)
                self._seats[one.member_id], self._until[one.member_id] = one, now + session_seconds
                continue
            if one.group_type is GroupType.CONSUMER:
                continue
            rest = one.kept_seconds - elapsed_seconds if elapsed_seconds >= 0 else 0.0
            seat = _seat(one, SeatState.VACANT)
            seat.vacant_since = seat.next_at = seat.heard_at = now
            seat.vacant_until = now + min(max(0.0, rest), self._settings.vacant_seconds)
            seat.free_at = math.inf  # not free until the coordinator has accepted a heartbeat for the seat
            self._table.add(seat)

    def confirmed(self, member_id: str) -> Seat | None:
        """Confirm a member's seat, since the coordinator accepted a request; return the seat, None if there is none."""
        self._until.pop(member_id, None)
        one = self._seats.pop(member_id, None)
        if one is None or self._table.full or self._table.get(one.instance_id) is not None:
            return None
        seat = _seat(one, SeatState.OCCUPIED)
        self._table.add(seat)
        return seat

    def saved(self) -> tuple[SavedSeat, ...]:
        """Return the unconfirmed seats, for the next restart."""
        return tuple(self._seats.values())

    def due(self, now: float) -> None:
        """Drop the seats whose members' sessions have ended."""
        for member_id in [member_id for member_id, until in self._until.items() if until <= now]:
            del self._until[member_id], self._seats[member_id]

    def next_due(self) -> float | None:
        """Return when to call `due` next; None if no seat waits to be confirmed."""
        return min(self._until.values(), default=None)


def _seat(one: SavedSeat, state: SeatState) -> Seat:
    return Seat(
        one.instance_id,
        one.profile,
        state,
        one.member_id,
        one.generation,
        one.version,
        one.leads,
        one.returned,
        locked=False,
        partitions=one.partitions,
    )


def _saved(seat: Seat, profile: JoinProfile, now: float, group_type: GroupType) -> SavedSeat:
    given_up = seat.state is SeatState.GIVEN_UP
    vacant = given_up or seat.state is SeatState.VACANT
    return SavedSeat(
        instance_id=seat.instance_id,
        member_id=seat.member_id,
        generation=seat.generation,
        version=seat.version,
        leads=seat.leads,
        returned=seat.returned,
        profile=profile,
        group_type=group_type,
        partitions=seat.partitions,
        vacant=vacant,
        kept_seconds=max(0.0, seat.vacant_until - now) if vacant and not given_up else 0.0,
    )
