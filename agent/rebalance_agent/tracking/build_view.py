"""Builds the view of a group from its last generation, its members, and the quality of its assignment."""

from __future__ import annotations

from rebalance_agent.model.epoch_groups import CurrentAssignment, MemberTarget, TargetEpoch
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.tracking.completed_generation import Generation
from rebalance_agent.tracking.members.measured_quality import MeasuredQuality, are_consumers
from rebalance_agent.tracking.members.shown_members import ShownMembers
from rebalance_agent.tracking.observations import EpochRecord
from rebalance_agent.tracking.patterns.copartition import copartition_breaks
from rebalance_agent.tracking.tracker_context import TrackerContext
from rebalance_agent.tracking.views import GroupView

__all__ = ["build_view", "keeps_base_view"]


def build_view(
    generation: Generation,
    members: ShownMembers,
    quality: MeasuredQuality | None,
    state: GroupState,
    context: TrackerContext,
) -> GroupView:
    """Build the part of the view that follows from the generation, the group's state and the members' hosts.

    ``members``: the generation's members. ``quality``: the last measured quality, which may be that of an earlier
    generation's assignment.
    """
    value = generation.value
    sizes = {topic: count for topic, count in generation.topics.items() if topic in members.topics}
    consumes = are_consumers(generation)
    partitions = sum(sizes.values()) if consumes else None
    if quality is not None:
        members.aim(quality.targets)
    loads = members.loads
    declared = context.copartitioned.of(value.group) if generation.group_type is not GroupType.SHARE else None
    rebalance_timeout_ms = members.rebalance_timeout_ms
    return GroupView(
        group=value.group,
        group_type=generation.group_type,
        source=generation.source,
        state=state,
        version=0,
        first_seen_ms=0,
        generation=generation.number,
        assignor=value.protocol or None,
        protocol=generation.protocol,
        leader_member_id=value.leader or None,
        members=loads,
        static_members=members.static,
        streams_tasks=members.streams_tasks if generation.group_type is GroupType.STREAMS else None,
        consumes=consumes,
        partitions=partitions,
        unassigned=partitions - members.served(sizes) if context.topics.known and partitions is not None else None,
        copartition_breaks=copartition_breaks(declared, sizes, loads) if declared else None,
        rebalance_timeout_seconds=rebalance_timeout_ms / 1000 if loads and rebalance_timeout_ms >= 0 else None,
        metadata_bytes=value.size_bytes or None,
        idle_members=quality.idle_members if quality else None,
        skew_ratio=quality.skew_ratio if quality else None,
        imbalance=quality.imbalance if quality else None,
        topic_spread=quality.topic_spread if quality else (),
        host_spread=quality.host_spread if quality else None,
        judged=quality is not None,
        judged_version=quality.version if quality else 0,
    )


def keeps_base_view(old: CurrentAssignment | None, new: CurrentAssignment | None, record: EpochRecord) -> bool:
    """Whether a record leaves the group's base view unchanged; ``old`` and ``new``: the member's assignments.

    In a large group, the coordinator writes a record for each member that reaches a new epoch, and most members keep
    their partitions.
    """
    if record.kind is CurrentAssignment:
        return old is not None and new is not None and _visible_part(old) == _visible_part(new)
    return record.kind in (MemberTarget, TargetEpoch)


def _visible_part(current: CurrentAssignment) -> tuple[object, ...]:
    return current.epoch < 0, current.assigned, current.revoking, current.standbys, current.warmups
