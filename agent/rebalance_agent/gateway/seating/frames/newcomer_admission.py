"""Makes newcomers on one connection wait until they may join, in classic and KIP-848 groups."""

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
    """Makes newcomers wait if the gateway may hold the bytes of their requests. Each client waits once per group."""

    def __init__(
        self, groups: SeatingGroups, members: ConnectionGroups, connection: ClientConnection, held: Held
    ) -> None:
        """Admit newcomers of ``connection``; ``held`` is entered while a newcomer waits."""
        self._groups, self._members, self._connection, self._held = groups, members, connection, held

    async def seat(self, group: SeatedGroup, name: str, who: Newcomer, size: int) -> GrantedSeat | None:
        """Wait; return the seat with which to join. None: the frame of ``size`` bytes is to be sent unchanged.

        Raises:
            ConnectionError: the client disconnected while it waited.
        """
        with self._groups.held_bytes.room(size) as room:
            if not (room or who.member_id):
                return None
            with self._held():
                seat = await group.admitted(who, self._connection)
        if not who.member_id:
            self._members.note_waited(name)
        return seat
