"""An index of the seats that are free at one moment, by their last members' profiles, for newcomers' look-ups."""

from __future__ import annotations

from collections.abc import Collection

from rebalance_agent.gateway.seats.group_facts import FreeSeat, SeatsRoster
from rebalance_agent.gateway.seats.seat import Seat, SeatState, SeatTable

__all__ = ["FreeSeats"]


class FreeSeats:
    """The free seats that no newcomer has claimed, for one pass over the held JoinGroups.

    ``own``: fingerprint -> instance id -> free seat of this gateway; ``elsewhere``: the same for other gateways.
    ``vacant``: vacant seats of this gateway; ``seated``: the fingerprints of all seats of this gateway.
    """

    def __init__(self, table: SeatTable, roster: SeatsRoster | None, claimed: Collection[str]) -> None:
        """Index the free seats of ``table`` and of ``roster`` (None if other gateways' seats are unknown)."""
        self.own: dict[str, dict[str, Seat]] = {}
        self.elsewhere: dict[str, dict[str, FreeSeat]] = {}
        self.vacant: list[Seat] = []
        self.seated: set[str] = set()
        for seat in table:
            if seat.profile is None:
                continue
            self.seated.add(seat.profile.fingerprint)
            if seat.free and seat.instance_id not in claimed:
                self.own.setdefault(seat.profile.fingerprint, {})[seat.instance_id] = seat
                if seat.state is SeatState.VACANT:
                    self.vacant.append(seat)
        for free in () if roster is None else roster.free:
            if table.get(free.instance_id) is None and free.instance_id not in claimed:
                self.elsewhere.setdefault(free.fingerprint, {})[free.instance_id] = free

    def claim(self, fingerprint: str, instance_id: str) -> None:
        """Remove a seat that a newcomer claims, so that no other newcomer gets it."""
        self.own.get(fingerprint, {}).pop(instance_id, None)
        self.elsewhere.get(fingerprint, {}).pop(instance_id, None)
