"""Lets newcomers of one connection wait until they may join, in classic and KIP-848 groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rebalance_agent.gateway.seating.connections.client_connection import ClientConnection, Held
from rebalance_agent.gateway.seating.frames.connection_groups import ConnectionGroups
from rebalance_agent.gateway.seating.seated_group import GrantedSeat, SeatedGroup
from rebalance_agent.gateway.seats.rules.eligibility import Newcomer

if TYPE_CHECKING:
    from rebalance_agent.gateway.seating.seating_groups import SeatingGroups

__all__ = ["NewcomerAdmission"]


class NewcomerAdmission:
    """Lets newcomers wait, within the bytes that the gateway may hold; each client waits once per group."""

    def __init__(
        self, groups: SeatingGroups, members: ConnectionGroups, connection: ClientConnection, held: Held
    ) -> None:
        """Admit newcomers of ``connection``; ``held`` is entered while one waits."""
        self._groups, self._members, self._connection, self._held = groups, members, connection, held

    async def seat(self, group: SeatedGroup, name: str, who: Newcomer, size: int) -> GrantedSeat | None:
        """Wait, and return the seat to join with; None if its frame of ``size`` bytes is to be sent unchanged.

        Raises:
            ConnectionError: the client disconnected meanwhile.
        """
        with self._groups.held_bytes.room(size) as room:
            if not (room or who.member_id):
                return None
            with self._held():
                seat = await group.admitted(who, self._connection)
        if not who.member_id:
            self._members.note_waited(name)
        return seat
