"""Builds the view of a group from its last generation, and the quality of its assignment."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

from rebalance_agent.model.episode import Source
from rebalance_agent.model.epoch_groups import CurrentAssignment, MemberTarget, TargetEpoch
from rebalance_agent.model.generation_diff import owners
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.observations import EpochRecord
from rebalance_agent.tracking.patterns.copartition import copartition_breaks
from rebalance_agent.tracking.rebalance.quality import judge_generation
from rebalance_agent.tracking.tracker_context import TrackerContext
from rebalance_agent.tracking.views import GroupView, MemberLoad

__all__ = ["add_quality", "build_view", "keeps_base_view"]


def build_view(
    generation: Generation,
    state: GroupState,
    version: int,
    first_seen_ms: int,
    context: TrackerContext,
) -> GroupView:
    """Build the part of the view that depends on the generation alone, without the quality of the assignment."""
    value = generation.value
    consumers = _are_consumers(generation)
    members = generation.members
    sizes = _subscribed_sizes(generation)
    partitions = sum(sizes.values()) if consumers else None
    shares = tuple(
        MemberLoad(
            member.member_id,
            member.instance_id,
            member.client_id,
            member.client_host,
            member.assigned,
            topics=member.subscription.topics if member.subscription else None,
        )
        for member in sorted(members, key=lambda member: member.member_id)
    )
    declared = context.copartitioned.of(value.group) if generation.group_type is not GroupType.SHARE else None
    served = sum(number < sizes.get(topic, 0) for topic, number in owners(value))
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
        leader_member_id=value.leader or None,
        members=shares,
        static_members=sum(member.instance_id is not None for member in members),
        partitions=partitions,
        unassigned=partitions - served if context.topics.known and partitions is not None else None,
        copartition_breaks=copartition_breaks(declared, sizes, shares) if declared else None,
        rebalance_timeout_seconds=generation.rebalance_timeout_ms / 1000
        if members and generation.rebalance_timeout_ms >= 0
        else None,
        metadata_bytes=value.size_bytes if generation.group_type is GroupType.CLASSIC else None,
        judged=False,
    )


def add_quality(view: GroupView, generation: Generation, hosts: Mapping[str, str]) -> GroupView:
    """Return ``view`` with the quality of the generation's assignment: skew, imbalance, idle members, targets.

    ``hosts``: member id -> its host.
    """
    consumers = _are_consumers(generation)
    judged = judge_generation(generation, generation, hosts) if view.members and consumers else None
    quality = judged.quality if judged else None
    members = view.members
    if judged:
        members = tuple(replace(member, target=judged.targets.get(member.member_id)) for member in members)
    idle = None
    if consumers and generation.standby_hosts is not None:
        sizes = _subscribed_sizes(generation)
        idle = sum(_idle(member, sizes, generation.standby_hosts) for member in members)
    return replace(
        view,
        members=members,
        idle_members=idle,
        skew_ratio=quality.skew_ratio if quality else None,
        imbalance=quality.imbalance if quality else None,
        topic_spread=tuple(sorted(quality.topic_spread.items())) if quality else (),
        host_spread=judged.host_spread if judged else None,
        judged=True,
    )


def _are_consumers(generation: Generation) -> bool:
    """Whether the members are consumers: other clients (Connect) use groups, too."""
    return generation.value.protocol_type in ("", "consumer")


def keeps_base_view(old: CurrentAssignment | None, new: CurrentAssignment | None, record: EpochRecord) -> bool:
    """Whether a record leaves the group's base view unchanged; ``old`` and ``new``: its member's assignment.

    In a large group each member writes a record when it reaches a new epoch, and most keep their partitions.
    """
    if record.kind is CurrentAssignment:
        return old is not None and new is not None and _visible_part(old) == _visible_part(new)
    return record.kind in (MemberTarget, TargetEpoch)


def _visible_part(current: CurrentAssignment) -> tuple[object, ...]:
    return current.epoch < 0, current.assigned, current.revoking, current.standbys


def _subscribed_sizes(generation: Generation) -> dict[str, int]:
    """Return the partition counts of subscribed topics; assigned topics count where no subscription could be read."""
    topics: set[str] = set()
    for member in generation.members:
        topics.update(member.subscription.topics if member.subscription else member.assigned)
    return {topic: count for topic, count in generation.topics.items() if topic in topics}


def _idle(member: MemberLoad, sizes: Mapping[str, int], standby_hosts: Collection[str]) -> bool:
    """Whether the member has no partitions, although its subscription allows some and its assignor aims at some."""
    if count_partitions(member.assigned or {}) or member.target == 0 or member.member_id in standby_hosts:
        return False
    return member.topics is None or any(topic in sizes for topic in member.topics)
