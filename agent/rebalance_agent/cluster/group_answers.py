"""Converts the client's answers about groups to plain values."""

from __future__ import annotations

from concurrent.futures import Future
from typing import Any, TypeVar

from confluent_kafka import ConsumerGroupState, ConsumerGroupType, KafkaError, KafkaException

from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.model.partitions import TopicPartitions, existing_partitions, topic_partitions
from rebalance_agent.tracking.observations import DescribedGroup, ListedGroup
from rebalance_agent.tracking.views import MemberLoad

__all__ = [
    "STATES",
    "committed_offsets",
    "described_group",
    "group_description",
    "group_state",
    "listed_group",
]

_Answer = TypeVar("_Answer")

STATES = {
    GroupState.PREPARING_REBALANCE: ConsumerGroupState.PREPARING_REBALANCING,
    GroupState.COMPLETING_REBALANCE: ConsumerGroupState.COMPLETING_REBALANCING,
    GroupState.STABLE: ConsumerGroupState.STABLE,
    GroupState.DEAD: ConsumerGroupState.DEAD,
    GroupState.EMPTY: ConsumerGroupState.EMPTY,
}
"""Group state -> the client's constant for it."""

_OURS = {theirs: ours for ours, theirs in STATES.items()}
_TYPES = {ConsumerGroupType.CLASSIC: GroupType.CLASSIC, ConsumerGroupType.CONSUMER: GroupType.CONSUMER}


def group_state(answer: Any) -> GroupState | None:  # noqa: ANN401 - the client's own types have no annotations
    """Return the state in an answer to ListGroups or DescribeGroups; None for a state that `GroupState` lacks."""
    if answer.state is ConsumerGroupState.UNKNOWN and answer.type is ConsumerGroupType.CONSUMER:
        # The client does not support Assigning and Reconciling; Assigning lasts only a moment.
        return GroupState.RECONCILING
    return _OURS.get(answer.state)


def listed_group(answer: Any) -> ListedGroup | None:  # noqa: ANN401
    """Return one group of a ListGroups answer; None if its state is unknown."""
    state = group_state(answer)
    return None if state is None else ListedGroup(answer.group_id, state, _type(answer))


def described_group(answer: Any) -> DescribedGroup | None:  # noqa: ANN401
    """Return one group of a DescribeGroups answer; None if its state is unknown."""
    if (state := group_state(answer)) is None:
        return None
    members = (
        MemberLoad(
            member.member_id,
            member.group_instance_id,
            member.client_id,
            member.host,
            _assigned(member.assignment),
        )
        for member in answer.members
    )
    return DescribedGroup(
        answer.group_id,
        state,
        _type(answer),
        answer.partition_assignor or None,
        tuple(sorted(members, key=lambda member: member.member_id)),
        coordinator=-1 if answer.coordinator is None else answer.coordinator.id,
    )


def _assigned(assignment: Any) -> TopicPartitions:  # noqa: ANN401
    """Return a member's partitions. In a classic group, its leader wrote them, unchecked by brokers: see `existing`."""
    return existing_partitions(topic_partitions((pair.topic, pair.partition) for pair in assignment.topic_partitions))


def _type(answer: Any) -> GroupType:  # noqa: ANN401
    return _TYPES.get(answer.type, GroupType.CLASSIC)


def group_description(answer: Future[_Answer]) -> _Answer | None:
    """Return the answer to DescribeGroups; None if the coordinator has no such group."""
    try:
        return answer.result()
    except KafkaException as error:
        if error.args[0].code() == KafkaError.GROUP_ID_NOT_FOUND:
            return None
        raise


def committed_offsets(answer: Future[Any]) -> dict[Partition, int]:
    """Return the offsets in an answer to OffsetFetch."""
    commits = answer.result().topic_partitions or ()
    return {(commit.topic, commit.partition): commit.offset for commit in commits if commit.offset >= 0}
