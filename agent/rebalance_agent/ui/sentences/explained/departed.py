"""Finds the members that departed in the same way: they left, failed, or are gone without evidence of either. Pure.

An event contains the ways in which members departed, but not the way of each member. Members' reports may show each
member's way; if not, the sentence lists the candidates.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.events import Callback, MemberSnapshot
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.member_changes import identity
from rebalance_agent.tracking.evidence.member_reports import UNDATED_SKEW_MAX_MS
from rebalance_agent.ui.sentences.explained.observed_rebalance import ObservedRebalance
from rebalance_agent.ui.words import listed, printable

__all__ = ["Departed", "departed", "described"]

_WAYS = (Trigger.MEMBER_FAILED, Trigger.MEMBER_LEFT, Trigger.MEMBER_GONE)


class Departed(NamedTuple):
    """The members that ``certainly`` departed in the same way; if no such member is known, the candidates (``among``).

    ``one``: whether exactly one candidate departed in this way; otherwise at least one candidate did.
    """

    certainly: Sequence[MemberSnapshot] = ()
    among: Sequence[MemberSnapshot] = ()
    one: bool = False

    def text(self, rebalance: ObservedRebalance) -> str:
        """Return ``a``, ``a and b``, ``one of a and b``, ``at least one of a, b and c``, or ``a member``."""
        if self.certainly or not self.among:
            return described(rebalance, self.certainly)
        return f"{'one' if self.one else 'at least one'} of {described(rebalance, self.among)}"


def departed(rebalance: ObservedRebalance, way: Trigger) -> Departed:
    """Return the members that departed in this ``way``, which is one of the causes of the rebalance."""
    present = {identity(member) for member in rebalance.closing.members}
    members = [member for member in rebalance.by_id.values() if identity(member) not in present]
    ways = [cause for cause in rebalance.closing.causes if cause in _WAYS]
    if len(ways) == 1:
        return Departed(members)
    reported = {member.member_id: _reported(rebalance, member) for member in members}
    if way in reported.values():
        return Departed([member for member in members if reported[member.member_id] is way])
    among = [member for member in members if reported[member.member_id] not in ways]
    open_ways = [other for other in ways if other not in reported.values()]
    if len(among) < len(open_ways):
        return Departed()
    if len(among) == 1:
        return Departed(among)
    return Departed((), among, one=len(among) == len(open_ways))


def described(rebalance: ObservedRebalance, members: Sequence[MemberSnapshot]) -> str:
    """Return the members' names, of up to three with client, place and library; ``a member`` for no ``members``."""
    if not members:
        return "a member"
    few = len(members) <= 3  # noqa: PLR2004 - a sentence with more members and their hosts would not be readable
    names = sorted(_described(rebalance, member) if few else rebalance.name(member) for member in members)
    return listed(names)


def _reported(rebalance: ObservedRebalance, member: MemberSnapshot) -> Trigger | None:
    """Return how the member departed, according to its reports.

    If the member revoked partitions after the join phase, the coordinator had already removed this member.
    """
    # The coordinator of a share group takes partitions from members without a request: this shows no departure.
    revoked = [] if rebalance.closing.group_type is GroupType.SHARE else [Callback.REVOKED]
    stops = rebalance.reports_of(member.member_id, [Callback.LEFT, Callback.LOST, *revoked])
    callbacks = {event.callback for event in stops}
    if not callbacks:
        return None
    if Callback.LEFT in callbacks:
        return Trigger.MEMBER_LEFT
    joined_ms = rebalance.closing.phases.joined_ms or rebalance.closing.timestamp_ms
    late = any(event.timestamp_ms > joined_ms + UNDATED_SKEW_MAX_MS for event in stops)
    return Trigger.MEMBER_FAILED if late or Callback.LOST in callbacks else Trigger.MEMBER_LEFT


def _described(rebalance: ObservedRebalance, member: MemberSnapshot) -> str:
    """Return the member's name, client, place and library: ``orders-2 (client rdkafka, 10.0.0.7)``.

    If a gateway handed over the member's seat, client and host are those of the consumer in the seat; the coordinator's
    client and host follow.
    """
    name, where, occupant = rebalance.name(member), member.where, member.occupant
    client_id, host = (occupant.client_id, occupant.host) if occupant else (member.client_id, member.host)
    first = " at ".join(part for part in (member.client_id, member.host.removeprefix("/")) if part)
    places = (
        f"client {client_id}" if printable(client_id) not in ("", name.partition(" (")[0]) else "",
        f"node {where.node}" if where and where.node else host.removeprefix("/"),
        f"in the seat of {first}" if occupant and first else "",
        rebalance.library(member.member_id),
    )
    details = ", ".join(printable(part) for part in places if part)
    return f"{name} ({details})" if details else name
