"""The groups with seats that the client of one connection names, or of which this client is a member."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING

from rebalance_agent.gateway.seating.seated_group import SeatedGroup
from rebalance_agent.gateway.seats.rules.short_hash import short_hash
from rebalance_agent.groupprotocol.wire.error_codes import NO_ERROR
from rebalance_agent.model.group import GroupType

if TYPE_CHECKING:
    from rebalance_agent.gateway.seating.seating_groups import SeatingGroups

__all__ = ["ConnectionGroups", "ImpatientMembers"]

IMPATIENT_MAX = 1_000
"""Maximum number of members kept: as many as may wait in one group (``held_max``)."""

GROUPS_MAX = 32
"""Maximum number of groups in which the client of one connection gets seats: a consumer is a member of one group."""

NO_MEMBER = ""
"""Placeholder for the member id of a client that joins a group and has not been accepted yet."""


class ConnectionGroups:
    """The groups that a client names, as short hashes: names and member ids from clients may have 32 KiB each."""

    def __init__(self, groups: SeatingGroups) -> None:
        """Start without groups."""
        self._groups = groups
        self._named: set[str] = set()
        self._member_of: dict[str, str] = {}

    def of(self, name: str, group_type: GroupType) -> SeatedGroup | None:
        """Return the group of this name; only the first `GROUPS_MAX` groups that a client names have seats."""
        if short_hash(name) not in self._named and len(self._named) >= GROUPS_MAX:
            return None
        group = self._groups.of(name, group_type)
        if group is not None:
            self._named.add(short_hash(name))
        return group

    def was_member(self, name: str) -> bool:
        """Whether the client is or was a member of the group, or waited to become one."""
        return short_hash(name) in self._member_of

    def is_member(self, name: str, member_id: str) -> bool:
        """Whether this member sent the last request for the group that the coordinator accepted on this connection."""
        return self._member_of.get(short_hash(name)) == short_hash(member_id)

    def note_waited(self, name: str) -> None:
        """Record that the client has waited to join: a client waits only once, even if the coordinator moves."""
        self._member_of[short_hash(name)] = NO_MEMBER

    def note_answer(self, name: str, member_id: str, error: int) -> None:
        """Record that the coordinator answered a request of a member."""
        if error == NO_ERROR:
            self._member_of[short_hash(name)] = short_hash(member_id)


class ImpatientMembers:
    """Members of KIP-848 whose clients closed the connection while their first heartbeat was held.

    If a client waits for less time than the gateway assumes, it repeats the heartbeat with the same member id. The
    repeated heartbeat is not held.
    """

    def __init__(self) -> None:
        """Start without members."""
        self._members: OrderedDict[str, None] = OrderedDict()

    def add(self, group: str, member_id: str) -> None:
        """Add a member; if there are too many, the oldest entry is dropped."""
        if member_id:
            self._members[short_hash(repr((group, member_id)))] = None
            if len(self._members) > IMPATIENT_MAX:
                self._members.popitem(last=False)

    def __contains__(self, member: tuple[str, str]) -> bool:
        """Whether a member (group and member id) is included."""
        return short_hash(repr(member)) in self._members
