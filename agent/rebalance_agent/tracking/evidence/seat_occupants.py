"""The consumers that occupy the seats of a group's members after gateways handed seats over, and the consumers before.

The coordinator continues to name the consumer that joined first. A member gets an id that no member had before, so an
entry is valid for as long as the group has a member with this id.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import replace
from typing import NamedTuple

from rebalance_agent.model.group import Member
from rebalance_agent.model.reported.seat_event import Act, SeatEvent, SeatOccupant

__all__ = ["OCCUPANTS_MAX", "SeatOccupants"]

OCCUPANTS_MAX = 4_096
"""Maximum number of members per group whose occupants are kept: twice the size of the largest groups, since events may
precede records."""

TEXT_MAX = 256
"""Longest name (characters) accepted in an event: gateways shorten names to 200."""

_VACATED = frozenset({Act.KEEP, Act.GIVE_UP})


class _Stopped(NamedTuple):
    """The time by which a former member's consumer had stopped (epoch ms, the gateway's clock); None if unknown."""

    at_ms: int | None
    revision: int
    reported_ms: int


class SeatOccupants:
    """Occupants by member id; None for a member whose consumer is gone. Times are by the observer's clock."""

    def __init__(self) -> None:
        """Start without reports."""
        self._occupants: OrderedDict[str, tuple[SeatOccupant | None, int]] = OrderedDict()
        self._stopped: OrderedDict[str, _Stopped] = OrderedDict()

    def __len__(self) -> int:
        """Return the number of members with an entry."""
        return len(self._occupants)

    def take(self, event: SeatEvent, now_ms: int) -> bool:
        """Process a gateway's event; return whether anything changed."""
        stopped = self._take_stop(event, now_ms)
        return self._take_occupant(event, now_ms) or stopped

    def _take_occupant(self, event: SeatEvent, now_ms: int) -> bool:
        names = event.member_id, event.client_id or "", event.host or ""
        vacated = event.act in _VACATED and event.carried_out
        if not event.member_id or max(map(len, names)) > TEXT_MAX or not (vacated or event.occupant):
            return False
        before = self._occupants.get(event.member_id)
        if before is not None and before[0] is None:
            return False  # a later revision of a report from before the consumer left
        after = None if vacated else event.occupant
        self._occupants[event.member_id] = after, now_ms
        if len(self._occupants) > OCCUPANTS_MAX:
            self._occupants.popitem(last=False)
        return before is None or before[0] != after

    def _take_stop(self, event: SeatEvent, now_ms: int) -> bool:
        name, at_ms = event.former_member_id or "", event.stopped_ms
        if event.act is not Act.HANDOVER or not event.carried_out or not name or len(name) > TEXT_MAX:
            return False
        if at_ms is not None and not 0 <= at_ms <= event.timestamp_ms:
            return False
        before = self._stopped.get(name, _Stopped(None, -1, 0))
        if event.revision <= before.revision:
            return False
        self._stopped[name] = _Stopped(at_ms, event.revision, now_ms)
        if len(self._stopped) > OCCUPANTS_MAX:
            self._stopped.popitem(last=False)
        return at_ms != before.at_ms

    def stopped_ms(self, member_id: str) -> int | None:
        """Return the time (epoch ms) by which a consumer that lost its seat to a successor had stopped; or None."""
        stopped = self._stopped.get(member_id)
        return None if stopped is None else stopped.at_ms

    def of(self, member_id: str) -> SeatOccupant | None:
        """Return the occupant of a member's seat; None if it is unknown or the consumer that the coordinator names."""
        occupant, _ = self._occupants.get(member_id, (None, 0))
        return occupant

    def served(self, member: Member) -> Member:
        """Return the member with the client id and host of its seat's occupant, where a gateway reported these."""
        occupant = self.of(member.member_id)
        if occupant is None:
            return member
        return replace(
            member, client_id=occupant.client_id or member.client_id, client_host=occupant.host or member.client_host
        )

    def keep(self, member_ids: Collection[str], since_ms: int) -> None:
        """Drop members that are neither among ``member_ids`` nor have an event since ``since_ms``."""
        kept = ((name, entry) for name, entry in self._occupants.items() if name in member_ids or entry[1] >= since_ms)
        self._occupants = OrderedDict(kept)
        recent = ((name, entry) for name, entry in self._stopped.items() if entry.reported_ms >= since_ms)
        self._stopped = OrderedDict(recent)

    def clear(self) -> None:
        """Drop all entries, since the group is gone."""
        self._occupants.clear()
        self._stopped.clear()
