"""Measures the quality of a recorded assignment, whichever client computed it, with this package's assignors."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from rebalance_agent.assignors import Judgement, find_strategy, judgement
from rebalance_agent.errors import AssignmentError, StrategyFailedError
from rebalance_agent.model.group import GroupType, Member
from rebalance_agent.model.member_changes import identity
from rebalance_agent.model.subscription import (
    UNKNOWN_GENERATION,
    GroupAssignment,
    GroupSubscription,
    MemberSubscription,
    TopicMetadata,
)
from rebalance_agent.tracking.completed_generation import Generation

__all__ = ["judge_generation"]


def judge_generation(
    generation: Generation, before: Generation | None = None, hosts: Mapping[str, str] | None = None
) -> Judgement | None:
    """Return the quality of the generation's assignment; None if it cannot be measured.

    ``before``: the generation from which moves are counted; it also defines what members own. ``hosts``: member id ->
    host, if the spread over hosts is to be measured. For an unknown assignor, or a plugin that fails here, the
    assignment is compared with the best balance that the subscriptions allow, and there are no targets. For share
    groups the result is None: the members of a partition share its records, so partitions per member mean nothing. For
    streams groups, skew and imbalance count tasks, each of which may read several topics; their members have no
    targets.
    """
    if generation.group_type is GroupType.SHARE:
        return None
    assigned = {member.member_id: member.assigned for member in generation.members}
    subscription = _subscription(generation, before)
    assignment = GroupAssignment(members=assigned, target=assigned)
    strategy = find_strategy(generation.value.protocol or "")
    try:
        if strategy is not None:
            with suppress(StrategyFailedError):
                return judgement(subscription, assignment, strategy, hosts)
        judged = judgement(subscription, assignment, hosts=hosts)._replace(targets={})
        return _judged_by_task(judged, generation) if generation.subtopologies else judged
    except AssignmentError:
        return None


def _judged_by_task(judged: Judgement, generation: Generation) -> Judgement:
    """Return ``judged`` with skew and imbalance counted in tasks."""
    sources = generation.subtopologies
    counts = {
        task: TopicMetadata(max((generation.topics.get(topic, 0) for topic in topics), default=0))
        for task, topics in sources.items()
    }
    members = tuple(MemberSubscription(member.member_id, tuple(sources)) for member in generation.members)
    tasks = {member.member_id: _tasks(member, sources) for member in generation.members}
    subscription = GroupSubscription(counts, members)
    by_task = judgement(subscription, GroupAssignment(members=tasks, target=tasks))
    quality = replace(judged.quality, skew_ratio=by_task.quality.skew_ratio, imbalance=by_task.quality.imbalance)
    return judged._replace(quality=quality)


def _tasks(member: Member, sources: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[int, ...]]:
    numbers = {
        task: {number for topic in topics for number in member.assigned.get(topic, ())}
        for task, topics in sources.items()
    }
    return {task: tuple(sorted(owned)) for task, owned in numbers.items() if owned}


def _subscription(generation: Generation, before: Generation | None) -> GroupSubscription:
    had = {identity(member): member for member in before.members} if before else {}
    return GroupSubscription(
        topics={topic: TopicMetadata(count) for topic, count in generation.topics.items()},
        members=tuple(_member(member, had.get(identity(member)), before) for member in generation.members),
        group=generation.value.group,
    )


def _member(member: Member, had: Member | None, before: Generation | None) -> MemberSubscription:
    subscription = member.subscription
    return MemberSubscription(
        member_id=member.member_id,
        topics=subscription.topics if subscription else (),
        instance_id=member.instance_id,
        # Use the recorded assignment, not the member's own claim: only the record is the same for every client.
        owned=had.assigned if had else {},
        generation=before.number if before else UNKNOWN_GENERATION,
        rack=subscription.rack_id if subscription else None,
        user_data=subscription.user_data if subscription else None,
    )
