"""Decodes records of consumer, share and streams groups to model values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rebalance_agent.groupprotocol.tables import consumer_groups as consumer
from rebalance_agent.groupprotocol.tables import share_groups as share
from rebalance_agent.groupprotocol.tables import streams_groups as streams
from rebalance_agent.groupprotocol.tables.kind import RecordTable
from rebalance_agent.model.epoch_groups import (
    CurrentAssignment,
    EpochFact,
    EpochMember,
    GroupEpoch,
    MemberState,
    MemberTarget,
    ResolvedPattern,
    TargetEpoch,
    Topology,
)
from rebalance_agent.model.group import NAMES_MAX, GroupType, endpoint_text, is_cooperative
from rebalance_agent.model.partitions import TopicPartitions, existing_partitions

__all__ = ["EPOCH_FACTS", "partitions_by", "topics_of_subtopologies"]

_Fields = Mapping[str, Any]

_STATES = {0: MemberState.STABLE, 1: MemberState.UNREVOKED, 2: MemberState.UNRELEASED}
_STREAMS_STATES = {1: MemberState.STABLE, 2: MemberState.UNREVOKED, 3: MemberState.UNRELEASED}


def _group_epoch(value: _Fields) -> GroupEpoch:
    return GroupEpoch(value["epoch"], value.get("validated_topology_epoch", -1), value.get("metadata_hash", 0))


def _target_epoch(value: _Fields) -> TargetEpoch:
    return TargetEpoch(value["assignment_epoch"])


def _consumer_member(value: _Fields) -> EpochMember:
    classic = value["classic_member_metadata"]
    assignors = [protocol["name"] for protocol in classic["supported_protocols"]] if classic else []
    return EpochMember(
        client_id=value["client_id"],
        client_host=value["client_host"],
        instance_id=value["instance_id"],
        rack=value["rack_id"],
        topics=tuple(value["subscribed_topic_names"]),
        pattern=value["subscribed_topic_regex"] or None,
        rebalance_timeout_ms=value["rebalance_timeout_ms"],
        assignor=value["server_assignor"],
        classic=bool(assignors),
        session_timeout_ms=classic["session_timeout_ms"] if classic else None,
        eager=not all(map(is_cooperative, assignors)),
    )


def _share_member(value: _Fields) -> EpochMember:
    return EpochMember(
        client_id=value["client_id"],
        client_host=value["client_host"],
        rack=value["rack_id"],
        topics=tuple(value["subscribed_topic_names"]),
    )


def _streams_member(value: _Fields) -> EpochMember:
    endpoint = value["user_endpoint"]
    return EpochMember(
        client_id=value["client_id"],
        client_host=value["client_host"],
        instance_id=value["instance_id"],
        rack=value["rack_id"],
        rebalance_timeout_ms=value["rebalance_timeout_ms"],
        process=value["process_id"][:NAMES_MAX],
        endpoint=endpoint and endpoint_text(endpoint["host"], endpoint["port"]),
    )


def _target(value: _Fields) -> MemberTarget:
    return MemberTarget(partitions_by(value["topic_partitions"], "topic_id"))


def _streams_target(value: _Fields) -> MemberTarget:
    return MemberTarget(_tasks(value["active_tasks"]), _tasks(value["standby_tasks"]), _tasks(value["warmup_tasks"]))


def _current(value: _Fields) -> CurrentAssignment:
    assigned = partitions_by(value["assigned_partitions"], "topic_id")
    return CurrentAssignment(
        epoch=value["member_epoch"],
        previous_epoch=value["previous_member_epoch"],
        state=_STATES.get(value["state"], MemberState.UNKNOWN),
        assigned=assigned,
        # A share group revokes no partitions, since its members share them.
        revoking=partitions_by(value.get("partitions_pending_revocation", ()), "topic_id"),
        assigned_in=_assigned_in(value["assigned_partitions"], assigned, "topic_id"),
    )


def _streams_current(value: _Fields) -> CurrentAssignment:
    assigned = _tasks(value["active_tasks"])
    return CurrentAssignment(
        epoch=value["member_epoch"],
        previous_epoch=value["previous_member_epoch"],
        state=_STREAMS_STATES.get(value["state"], MemberState.UNKNOWN),
        assigned=assigned,
        revoking=_tasks(value["active_tasks_pending_revocation"]),
        standbys=_tasks(value["standby_tasks"]),
        warmups=_tasks(value["warmup_tasks"]),
        assigned_in=_assigned_in(value["active_tasks"], assigned, "subtopology_id"),
    )


def _pattern(value: _Fields) -> ResolvedPattern:
    return ResolvedPattern(tuple(value["topics"]))


def _topology(value: _Fields) -> Topology:
    return Topology(topics_of_subtopologies(value["subtopologies"]), value["epoch"])


def topics_of_subtopologies(rows: Iterable[_Fields]) -> dict[str, tuple[str, ...]]:
    """Return the topics that the tasks of each subtopology read: source topics, then repartition topics."""
    return {
        row["subtopology_id"]: (*row["source_topics"], *(topic["name"] for topic in row["repartition_source_topics"]))
        for row in rows
    }


def _tasks(rows: Iterable[_Fields]) -> TopicPartitions:
    return partitions_by(rows, "subtopology_id")


def partitions_by(rows: Iterable[_Fields], name: str) -> TopicPartitions:
    """Return the ``partitions`` of rows by their field ``name``, without numbers that no topic can have.

    Rows with an equal name are merged.
    """
    numbers: dict[str, set[int]] = {}
    for row in rows:
        numbers.setdefault(row[name], set()).update(row["partitions"])
    return existing_partitions({topic: sorted(numbers[topic]) for topic in sorted(numbers)})


def _assigned_in(rows: Iterable[_Fields], assigned: TopicPartitions, name: str) -> dict[str, tuple[int, ...]]:
    """Return the epochs of the ``assigned`` partitions in their order, by the field ``name`` of the rows.

    Topics, or subtopologies, are omitted if a partition lacks its epoch.
    """
    epochs: dict[str, dict[int, int]] = {}
    for row in rows:
        if len(recorded := row.get("assignment_epochs") or ()) == len(row["partitions"]):
            epochs.setdefault(row[name], {}).update(zip(row["partitions"], recorded, strict=True))
    shared: dict[int, int] = {}  # most partitions have the same few epochs: one object for each
    return {
        topic: tuple(shared.setdefault(of[number], of[number]) for number in numbers)
        for topic, numbers in assigned.items()
        if (of := epochs.get(topic)) and of.keys() >= set(numbers)
    }


def _rows(
    group_type: GroupType, *rows: tuple[RecordTable, type[EpochFact], Callable[[_Fields], EpochFact]]
) -> dict[str, tuple[GroupType, type[EpochFact], Callable[[_Fields], EpochFact]]]:
    return {table.kind: (group_type, fact, read) for table, fact, read in rows}


EPOCH_FACTS: Mapping[str, tuple[GroupType, type[EpochFact], Callable[[_Fields], EpochFact]]] = {
    **_rows(
        GroupType.CONSUMER,
        (consumer.CONSUMER_GROUP_METADATA, GroupEpoch, _group_epoch),
        (consumer.CONSUMER_GROUP_MEMBER_METADATA, EpochMember, _consumer_member),
        (consumer.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA, TargetEpoch, _target_epoch),
        (consumer.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER, MemberTarget, _target),
        (consumer.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, CurrentAssignment, _current),
        (consumer.CONSUMER_GROUP_REGULAR_EXPRESSION, ResolvedPattern, _pattern),
    ),
    **_rows(
        GroupType.SHARE,
        (share.SHARE_GROUP_METADATA, GroupEpoch, _group_epoch),
        (share.SHARE_GROUP_MEMBER_METADATA, EpochMember, _share_member),
        (share.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA, TargetEpoch, _target_epoch),
        (share.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER, MemberTarget, _target),
        (share.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT, CurrentAssignment, _current),
    ),
    **_rows(
        GroupType.STREAMS,
        (streams.STREAMS_GROUP_METADATA, GroupEpoch, _group_epoch),
        (streams.STREAMS_GROUP_MEMBER_METADATA, EpochMember, _streams_member),
        (streams.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA, TargetEpoch, _target_epoch),
        (streams.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER, MemberTarget, _streams_target),
        (streams.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT, CurrentAssignment, _streams_current),
        (streams.STREAMS_GROUP_TOPOLOGY, Topology, _topology),
    ),
}
"""Kind of record -> group type, class of the fact, and its decoder."""
