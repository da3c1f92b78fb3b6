"""The list of seats that outlives the gateway's process.

Without it nothing is unsafe: members stay static and are known by their ids, and a vacant one is removed when its
session ends.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from rebalance_agent.gateway.seats.rules.join_profile import JoinProfile
from rebalance_agent.gateway.seats.rules.seat_settings import SeatSettings
from rebalance_agent.gateway.seats.seat import Seat, SeatState, SeatTable

__all__ = ["SavedSeat", "restore", "save"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedSeat:
    """A seat when it was saved. ``kept_seconds``: for how much longer it is kept if vacant, 0 if it was given up."""

    instance_id: str
    member_id: str
    generation: int
    version: int
    leads: bool
    returned: bool
    profile: JoinProfile | None
    vacant: bool
    kept_seconds: float


def save(table: SeatTable, now: float) -> tuple[SavedSeat, ...]:
    """The seats with a member. Who gets a seat whose JoinGroup is not answered is not known: it is not saved."""
    return tuple(_saved(seat, now) for seat in table if seat.state is not SeatState.JOINING)


def restore(
    table: SeatTable, saved: Iterable[SavedSeat], elapsed_seconds: float, now: float, settings: SeatSettings
) -> None:
    """Put saved seats into ``table``.

    Vacant ones are kept for the rest of their time; a clock that went backwards counts as if that were over. Consumers
    of the others may live, so nothing is done for them: if they do not, their sessions end.
    """
    for one in saved:
        if table.full:
            return
        seat = Seat(
            one.instance_id,
            one.profile,
            SeatState.VACANT if one.vacant else SeatState.OCCUPIED,
            one.member_id,
            one.generation,
            one.version,
            one.leads,
            one.returned,
            locked=False,
        )
        rest = one.kept_seconds - elapsed_seconds if elapsed_seconds >= 0 else 0.0
        seat.vacant_since = seat.next_at = now
        seat.vacant_until = now + min(max(0.0, rest), settings.vacant_seconds)
        table.add(seat)


def _saved(seat: Seat, now: float) -> SavedSeat:
    given_up = seat.state is SeatState.GIVEN_UP
    return SavedSeat(
        instance_id=seat.instance_id,
        member_id=seat.member_id,
        generation=seat.generation,
        version=seat.version,
        leads=seat.leads,
        returned=seat.returned,
        profile=seat.profile,
        vacant=given_up or seat.state is SeatState.VACANT,
        kept_seconds=0.0 if given_up else max(0.0, seat.vacant_until - now),
    )
