"""Converts responses of ConsumerGroupDescribe, ShareGroupDescribe and StreamsGroupDescribe to plain values."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rebalance_agent.groupprotocol.epoch_facts import partitions_by, topics_of_subtopologies
from rebalance_agent.groupprotocol.wire.error_codes import COORDINATOR_MOVED, GROUP_ID_NOT_FOUND
from rebalance_agent.model.epoch_groups import DescribedEpochs, DescribedMember
from rebalance_agent.model.group import NAMES_MAX, GroupState, GroupType, Member, StreamsMember, endpoint_text
from rebalance_agent.model.partitions import TopicPartitions, partitions_read
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from rebalance_agent.tracking.evidence.last_seen import SESSION_TIMEOUT_MS
from rebalance_agent.tracking.observations import DescribedGroup
from rebalance_agent.tracking.views import MemberLoad

__all__ = ["described_epochs", "refusal"]

_Sources = Mapping[str, tuple[str, ...]]
"""Subtopology -> the topics that its tasks read."""


def described_epochs(answer: Mapping[str, Any], group_type: GroupType) -> DescribedGroup | None:
    """Return one group of a response; None if it does not exist, may not be described, or has an unknown state."""
    if answer["error_code"] or answer["group_state"] not in set(GroupState):
        return None
    topology = answer.get("topology") or {}
    sources = topics_of_subtopologies(topology.get("subtopologies") or ())
    members = tuple(sorted((_member(each, sources) for each in answer["members"]), key=_id))
    return DescribedGroup(
        answer["group_id"],
        GroupState(answer["group_state"]),
        group_type,
        # The coordinator uses the assignor of a streams group only for the next assignment (KIP-1357).
        (group_type is not GroupType.STREAMS and answer.get("assignor_name")) or None,
        tuple(_load(each.member) for each in members),
        DescribedEpochs(answer["group_epoch"], answer["assignment_epoch"], members),
    )


def refusal(answer: Mapping[str, Any]) -> str | None:
    """Return why a group of a response is not described; None if it is, does not exist, or its coordinator moves."""
    error, state = answer["error_code"], answer["group_state"]
    if error in COORDINATOR_MOVED or error == GROUP_ID_NOT_FOUND:
        return None
    if error:
        text = f": {answer['error_message']}" if answer["error_message"] else ""
        return f"error {error}{text}"
    return None if state in set(GroupState) else f"its state {state!r} is unknown to this release"


def _id(described: DescribedMember) -> str:
    return described.member.member_id


def _member(member: Mapping[str, Any], sources: _Sources) -> DescribedMember:
    epoch, target = member["member_epoch"], member.get("target_assignment")
    topics = {topic for names in sources.values() for topic in names} or set(member.get("subscribed_topic_names", ()))
    # The topics that match a regular expression are known only as far as they are assigned.
    assigned = _assigned(member["assignment"], sources)
    return DescribedMember(
        Member(
            member_id=member["member_id"],
            instance_id=member.get("instance_id"),
            client_id=member["client_id"],
            client_host=member["client_host"],
            rebalance_timeout_ms=-1,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            session_assumed=True,
            subscription=ConsumerSubscription(-1, tuple(sorted(topics | assigned.keys())), rack_id=member["rack_id"]),
            # A static member that is away processes nothing.
            assignment=ConsumerAssignment(-1, {} if epoch < 0 else assigned),
            streams=_streams(member) if "process_id" in member else None,
        ),
        epoch,
        None if target is None else _assigned(target, sources),
    )


def _streams(member: Mapping[str, Any]) -> StreamsMember:
    endpoint, away = member["user_endpoint"], member["member_epoch"] < 0
    active, standby, warmup = (
        {} if away else partitions_by(member["assignment"][kind], "subtopology_id")
        for kind in ("active_tasks", "standby_tasks", "warmup_tasks")
    )
    return StreamsMember(
        member["process_id"][:NAMES_MAX],
        endpoint and endpoint_text(endpoint["host"], endpoint["port"]),
        active,
        standby,
        warmup,
    )


def _assigned(assignment: Mapping[str, Any], sources: _Sources) -> TopicPartitions:
    if "active_tasks" not in assignment:
        return partitions_by(assignment["topic_partitions"], "topic_name")
    tasks = partitions_by(assignment["active_tasks"], "subtopology_id")
    return partitions_read(tasks, lambda subtopology: sources.get(subtopology, ()), lambda _topic: 0)


def _load(member: Member) -> MemberLoad:
    topics = member.subscription.topics if member.subscription else None
    return MemberLoad(
        member.member_id,
        member.instance_id,
        member.client_id,
        member.client_host,
        member.assigned,
        topics=topics,
        streams=member.streams,
    )
