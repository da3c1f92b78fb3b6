"""A generation of a classic group as the frames of its leader contain it.

The coordinator's answer to the leader's JoinGroup has every member's subscription, and the leader's SyncGroup every
member's assignment: together what a ``GroupMetadata`` record has, but for other members' hosts and timeouts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from rebalance_agent.model.reported.led_generation import LedMember

__all__ = ["LED_BYTES_MAX", "LedMembers", "led_members"]

LED_BYTES_MAX = 700_000
"""Bytes of all subscriptions and assignments of a generation that is published: in base64, what one record may have."""


@dataclass(frozen=True, slots=True)
class LedMembers:
    """The members of the generation that a client leads; ``joined_ms``: when its JoinGroup was answered (epoch ms).

    ``assignor`` is the name that the coordinator knows. Members have no assignment before `assigned`.
    """

    generation: int
    assignor: str
    leader: str
    joined_ms: int
    members: tuple[LedMember, ...]

    def assigned(self, request: Any) -> LedMembers | None:  # noqa: ANN401 - kafka-python is untyped
        """The members with the assignments of the leader's SyncGroup; None if they are too large to be published."""
        given = {each.member_id: bytes(each.assignment) for each in request.assignments}
        members = tuple(replace(member, assignment=given.get(member.member_id, b"")) for member in self.members)
        if sum(len(member.subscription) + len(member.assignment) for member in members) > LED_BYTES_MAX:
            return None
        return replace(self, members=members)


def led_members(response: Any, now_ms: int) -> LedMembers | None:  # noqa: ANN401
    """The members in a JoinGroup response as the coordinator sent it; None for a follower.

    None also for a static leader that returns without a rebalance: its generation stays as it was (KIP-814).
    """
    if response.leader != response.member_id or response.skip_assignment:
        return None
    members = tuple(
        LedMember(member.member_id, bytes(member.metadata), b"", member.group_instance_id)
        for member in response.members
    )
    return LedMembers(response.generation_id, response.protocol_name or "", response.leader, now_ms, members)
