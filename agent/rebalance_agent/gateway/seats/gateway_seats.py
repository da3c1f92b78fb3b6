"""Stores the seats of all groups of one gateway, if the gateway's mode allows seats."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count

from rebalance_agent.gateway.seats.group_seats import GroupSeats
from rebalance_agent.gateway.seats.rules.seat_settings import SeatMode, SeatSettings
from rebalance_agent.gateway.seats.seat_acts import SeatAct
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.reported.seat_event import SEAT_PREFIX

__all__ = ["GatewaySeats", "new_seat_names"]


def new_seat_names(gateway_token: str) -> Iterator[str]:
    """Yield instance ids of new seats.

    ``gateway_token`` is random and new at each start of a gateway: with a name that was used before, a newcomer would
    take the place of a member that may still exist.
    """
    return (f"{SEAT_PREFIX}{gateway_token}-{number}" for number in count(1))


class GatewaySeats:
    """The seats of each group. ``mode`` applies to all groups; with ``off`` nothing is stored or decided."""

    def __init__(self, settings: SeatSettings, mode: SeatMode, gateway_token: str) -> None:
        """Start without groups."""
        self.settings, self.mode = settings, mode
        self._names = new_seat_names(gateway_token)
        self._groups: dict[str, GroupSeats] = {}

    def of(
        self, group: str, settings: SeatSettings | None = None, group_type: GroupType = GroupType.CLASSIC
    ) -> GroupSeats | None:
        """Return the group's seats; None if every frame of the group is to be forwarded unchanged.

        This is the case with ``off``, for groups beyond ``groups_max``, and if the group has seats of a protocol other
        than ``group_type``. Seats that were given before are still known. ``settings``: the settings for a new group,
        if they differ from the gateway's settings.
        """
        seats = self._groups.get(group)
        if seats is None and self.mode is not SeatMode.OFF and len(self._groups) < self.settings.groups_max:
            seats = self._groups[group] = GroupSeats(settings or self.settings, self._names, group_type)
        return seats if seats is not None and seats.group_type is group_type else None

    def switch_off(self, now: float) -> dict[str, list[SeatAct]]:
        """Stop giving and keeping seats until the gateway restarts; return the last acts by group."""
        self.mode = SeatMode.OFF
        return {group: acts for group, seats in self._groups.items() if (acts := seats.stop(now))}

    def due(self, now: float) -> dict[str, list[SeatAct]]:
        """Return the acts that are due by ``now``, by group."""
        return {group: acts for group, seats in self._groups.items() if (acts := seats.due(now))}

    def next_due(self) -> float | None:
        """Return when to call `due` next; None if no call is needed before another input."""
        times = (seats.next_due() for seats in self._groups.values())
        return min((time for time in times if time is not None), default=None)

    def forget_idle(self) -> None:
        """Drop groups without a seat and without a held JoinGroup."""
        for group in [name for name, seats in self._groups.items() if seats.idle]:
            del self._groups[group]
