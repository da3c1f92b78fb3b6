"""Converts group facts from ``__consumer_offsets`` records or leaders' frames into observations for the tracker."""

from __future__ import annotations

from rebalance_agent.groupprotocol.classic_group import CONSUMER_PROTOCOL_TYPE, member_assignment, member_subscription
from rebalance_agent.groupprotocol.group_fact import ClassicGroupFact, GroupFact
from rebalance_agent.model.episode import Source
from rebalance_agent.model.group import GroupSnapshot, Member
from rebalance_agent.model.reported.led_generation import LedGenerationEvent
from rebalance_agent.tracking.observations import EpochRecord, GroupRecord

__all__ = ["observed_generation", "observed_record"]

_UUID_CHARACTERS = 37
"""Length of a hyphen and a UUID, with which a member id ends."""


def observed_record(
    fact: GroupFact,
    timestamp_ms: int,
    seen_ms: int,
    partition: int = 0,
    offset: int = -1,
    *,
    live: bool = True,
    replayed: bool = False,
    gap_offset: int = -1,
    leader_epoch: int = -1,
) -> GroupRecord | EpochRecord:
    """Return the observation of ``fact``; the other parameters are as in `GroupRecord`."""
    if isinstance(fact, ClassicGroupFact):
        return GroupRecord(
            fact.group,
            timestamp_ms,
            seen_ms,
            fact.value,
            live,
            partition,
            offset,
            replayed,
            gap_offset,
            leader_epoch,
        )
    return EpochRecord(
        fact.group,
        timestamp_ms,
        seen_ms,
        fact.group_type,
        fact.kind,
        fact.value,
        fact.subject,
        partition,
        live,
        offset,
        replayed,
        gap_offset,
        leader_epoch,
    )


def observed_generation(event: LedGenerationEvent, seen_ms: int) -> GroupRecord:
    """Return the observation of a generation that its leader reported, or that a gateway read in its leader's frames.

    The frames do not contain members' hosts; of the timeouts they contain only the leader's, which is used for all
    members. A member's id begins with its client id. A static member's id begins with its instance id instead, so its
    client id is unknown.
    """
    members = tuple(
        Member(
            member_id=member.member_id,
            instance_id=member.instance_id,
            client_id="" if member.instance_id else member.member_id[:-_UUID_CHARACTERS],
            client_host="",
            rebalance_timeout_ms=event.rebalance_timeout_ms,
            session_timeout_ms=event.session_timeout_ms,
            subscription=member_subscription(CONSUMER_PROTOCOL_TYPE, member.subscription),
            assignment=member_assignment(CONSUMER_PROTOCOL_TYPE, member.assignment),
            session_assumed=True,
        )
        for member in event.members
    )
    value = GroupSnapshot(
        event.group,
        CONSUMER_PROTOCOL_TYPE,
        event.generation,
        event.assignor or None,
        event.leader,
        event.joined_ms,
        members,
    )
    return GroupRecord(event.group, event.timestamp_ms, seen_ms, value, source=Source.FRAMES)
