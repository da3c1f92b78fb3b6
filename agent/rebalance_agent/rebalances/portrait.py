"""Draws the view of a group: from its last generation and what the assignors make of it."""

from __future__ import annotations

from rebalance_agent.model.diff import owners
from rebalance_agent.model.episode import Source
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.rebalances.generations import Generation
from rebalance_agent.rebalances.judging import judge_generation, targets_of
from rebalance_agent.rebalances.views import GroupView, MemberLoad

__all__ = ["draw"]


def draw(
    generation: Generation, state: GroupState, version: int, first_seen_ms: int, *, sizes_known: bool
) -> GroupView:
    """The part of the view that the generation decides; ``sizes_known``: whether the cluster's topics were listed."""
    value, members = generation.value, generation.members
    quality = judge_generation(generation) if members else None
    targets = targets_of(generation) if members else {}
    partitions = sum(generation.topics.values()) if value.protocol_type in ("", "consumer") else None
    served = sum(number < generation.topics.get(topic, 0) for topic, number in owners(value))
    return GroupView(
        group=value.group,
        group_type=generation.group_type,
        source=Source.RECORDS,
        state=state,
        version=version,
        first_seen_ms=first_seen_ms,
        generation=generation.number,
        assignor=value.protocol or None,
        protocol=generation.protocol,
        members=tuple(
            MemberLoad(
                each.member_id,
                each.instance_id,
                each.client_id,
                each.client_host,
                each.assigned,
                targets.get(each.member_id),
            )
            for each in sorted(members, key=lambda member: member.member_id)
        ),
        static_members=sum(each.instance_id is not None for each in members),
        idle_members=sum(not count_partitions(each.assigned) and targets.get(each.member_id) != 0 for each in members),
        partitions=partitions,
        unassigned=partitions - served if sizes_known and partitions is not None else None,
        skew_ratio=quality.skew_ratio if quality else None,
        imbalance=quality.imbalance if quality else None,
        topic_spread=tuple(sorted(quality.topic_spread.items())) if quality else (),
        rebalance_timeout_seconds=generation.rebalance_timeout_ms / 1000
        if members and generation.rebalance_timeout_ms >= 0
        else None,
        metadata_bytes=value.size_bytes if generation.group_type is GroupType.CLASSIC else None,
    )
