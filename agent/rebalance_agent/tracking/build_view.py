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
from rebalance_agent.tracking.rebalance.quality import judge_generation, promises
from rebalance_agent.tracking.tracker_context import TrackerContext
from rebalance_agent.tracking.views import GroupView, MemberLoad

__all__ = ["draw", "judge", "looks_alike"]

_STREAMS = "stream"
"""The assignor of Kafka Streams in classic groups; its records do not show which members are standbys."""


def draw(
    generation: Generation,
    state: GroupState,
    version: int,
    first_seen_ms: int,
    around: TrackerContext,
) -> GroupView:
    """Build the part of the view that depends on the generation alone, without the quality of the assignment."""
    value = generation.value
    consumers = _consumes(generation)
    members = generation.members
    sizes = _subscribed_sizes(generation)
    partitions = sum(sizes.values()) if consumers else None
    shares = tuple(
        MemberLoad(
            each.member_id,
            each.instance_id,
            each.client_id,
            each.client_host,
            each.assigned,
            topics=each.subscription.topics if each.subscription else None,
        )
        for each in sorted(members, key=lambda member: member.member_id)
    )
    declared = around.copartitioned.of(value.group) if generation.group_type is not GroupType.SHARE else None
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
        members=shares,
        static_members=sum(each.instance_id is not None for each in members),
        partitions=partitions,
        unassigned=partitions - served if around.topics.known and partitions is not None else None,
        copartition_breaks=copartition_breaks(declared, sizes, shares) if declared else None,
        rebalance_timeout_seconds=generation.rebalance_timeout_ms / 1000
        if members and generation.rebalance_timeout_ms >= 0
        else None,
        metadata_bytes=value.size_bytes if generation.group_type is GroupType.CLASSIC else None,
        judged=False,
    )


def judge(portrait: GroupView, generation: Generation, standing_by: Collection[str] = ()) -> GroupView:
    """Return ``view`` with the quality of the generation's assignment: skew, imbalance, idle members, targets.

    ``standby_hosts``: members with standby or warm-up tasks, which are not idle.
    """
    consumers = _consumes(generation)
    judged = judge_generation(generation, generation) if portrait.members and consumers else None
    quality = judged.quality if judged else None
    members = portrait.members
    if judged and promises(generation):
        members = tuple(replace(each, target=judged.targets.get(each.member_id)) for each in members)
    idle = None
    if consumers and generation.value.protocol != _STREAMS:
        sizes = _subscribed_sizes(generation)
        idle = sum(_idle(each, sizes, standing_by) for each in members)
    return replace(
        portrait,
        members=members,
        idle_members=idle,
        skew_ratio=quality.skew_ratio if quality else None,
        imbalance=quality.imbalance if quality else None,
        topic_spread=tuple(sorted(quality.topic_spread.items())) if quality else (),
        judged=True,
    )


def _consumes(generation: Generation) -> bool:
    """Whether the members are consumers: other clients (Connect) use groups, too."""
    return generation.value.protocol_type in ("", "consumer")


def looks_alike(old: CurrentAssignment | None, new: CurrentAssignment | None, record: EpochRecord) -> bool:
    """Whether a record leaves the group's base view unchanged; ``old`` and ``new``: its member's assignment.

    In a large group each member writes a record when it reaches a new epoch, and most keep their partitions.
    """
    if record.kind is CurrentAssignment:
        return old is not None and new is not None and _has(old) == _has(new)
    return record.kind in (MemberTarget, TargetEpoch)


def _has(current: CurrentAssignment) -> tuple[object, ...]:
    return current.epoch < 0, current.assigned, current.revoking, current.standbys


def _subscribed_sizes(generation: Generation) -> dict[str, int]:
    """Return the partition counts of subscribed topics; assigned topics count where no subscription could be read."""
    wanted: set[str] = set()
    for member in generation.members:
        wanted.update(member.subscription.topics if member.subscription else member.assigned)
    return {topic: count for topic, count in generation.topics.items() if topic in wanted}


def _idle(member: MemberLoad, sizes: Mapping[str, int], standing_by: Collection[str]) -> bool:
    """Whether the member has no partitions, although its subscription allows some and its assignor aims at some."""
    if count_partitions(member.assigned or {}) or member.target == 0 or member.member_id in standing_by:
        return False
    return member.topics is None or any(topic in sizes for topic in member.topics)
