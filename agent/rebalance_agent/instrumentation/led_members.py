"""A generation of a classic group, with the data that the group's leader has.

The coordinator's answer to the leader's JoinGroup contains every member's subscription, and the leader's SyncGroup
every member's assignment. Together they contain the data of a ``GroupMetadata`` record, except other members' hosts
and timeouts.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from rebalance_agent.model.group_event import process_event_id
from rebalance_agent.model.reported.led_generation import LedGenerationEvent, LedMember

__all__ = ["LED_BYTES_MAX", "LedMembers", "led_members"]

LED_BYTES_MAX = 950_000
"""Largest JSON (bytes) of the members of a published generation: one record may have 1 MiB."""

_NAMES_BYTES = 100
"""Approximate bytes of the field names of a member in JSON."""


@dataclass(frozen=True, slots=True)
class LedMembers:
    """The members of the generation that a client leads; ``joined_ms``: when its JoinGroup was answered (epoch ms).

    ``assignor`` is the name that the coordinator has. Members have no assignment before `assigned`.
    """

    generation: int
    assignor: str
    leader: str
    joined_ms: int
    members: tuple[LedMember, ...]

    def assigned(self, given: Mapping[str, bytes], bytes_max: int = LED_BYTES_MAX) -> LedMembers | None:
        """Return the members with the assignments of the leader's SyncGroup; None if the JSON exceeds ``bytes_max``."""
        members = tuple(replace(member, assignment=given.get(member.member_id, b"")) for member in self.members)
        return None if sum(map(_json_bytes, members)) > bytes_max else replace(self, members=members)

    def event(
        self,
        group: str,
        at_ms: int,
        session_timeout_ms: int,
        rebalance_timeout_ms: int,
        process: str,
        sequence: int,
        cluster_id: str = "",
    ) -> LedGenerationEvent:
        """Return the event of this generation of ``group``, whose assignment the coordinator accepted at ``at_ms``."""
        return LedGenerationEvent(
            event_id=process_event_id(LedGenerationEvent.KIND, process, sequence),
            group=group,
            timestamp_ms=at_ms,
            generation=self.generation,
            assignor=self.assignor,
            leader=self.leader,
            joined_ms=self.joined_ms,
            members=self.members,
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=rebalance_timeout_ms,
            process=process,
            sequence=sequence,
            cluster_id=cluster_id,
        )


def led_members(response: Any, now_ms: int) -> LedMembers | None:  # noqa: ANN401 - kafka-python is untyped
    """Return the members in a JoinGroup response as the coordinator sent it; None for a follower.

    Return None also for a static leader that returns without a rebalance: its generation does not change (KIP-814).
    """
    if response.leader != response.member_id or response.skip_assignment:
        return None
    members = tuple(
        LedMember(member.member_id, bytes(member.metadata), b"", member.group_instance_id)
        for member in response.members
    )
    return LedMembers(response.generation_id, response.protocol_name or "", response.leader, now_ms, members)


def _json_bytes(member: LedMember) -> int:
    base64 = sum(4 * -(-len(data) // 3) for data in (member.subscription, member.assignment))
    return base64 + len(json.dumps((member.member_id, member.instance_id))) + _NAMES_BYTES
