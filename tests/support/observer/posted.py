"""Observations as a coordinator's records, and an audit of events against them."""

from __future__ import annotations

from rebalance_agent.audit.audited_group import RecordPosition
from rebalance_agent.audit.expected.entries import LogRecord
from rebalance_agent.audit.ledger import AuditWindow, Ledger
from rebalance_agent.groupprotocol.consumer_protocol import encode_assignment, encode_subscription
from rebalance_agent.groupprotocol.tables import GROUP_METADATA
from rebalance_agent.groupprotocol.tables import consumer_groups as consumer
from rebalance_agent.groupprotocol.tables import share_groups as share
from rebalance_agent.groupprotocol.tables import streams_groups as streams
from rebalance_agent.model.epoch_groups import (
    CurrentAssignment,
    EpochMember,
    GroupEpoch,
    MemberState,
    MemberTarget,
    TargetEpoch,
    Topology,
)
from rebalance_agent.model.group import GroupType
from rebalance_agent.tracking.observations import GroupRecord

STATES = {MemberState.STABLE: 0, MemberState.UNREVOKED: 1, MemberState.UNRELEASED: 2}

CONSUMER = {
    GroupEpoch: consumer.CONSUMER_GROUP_METADATA,
    EpochMember: consumer.CONSUMER_GROUP_MEMBER_METADATA,
    TargetEpoch: consumer.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA,
    MemberTarget: consumer.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER,
    CurrentAssignment: consumer.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
}
SHARE = {
    GroupEpoch: share.SHARE_GROUP_METADATA,
    EpochMember: share.SHARE_GROUP_MEMBER_METADATA,
    TargetEpoch: share.SHARE_GROUP_TARGET_ASSIGNMENT_METADATA,
    MemberTarget: share.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER,
    CurrentAssignment: share.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT,
}
STREAMS = {
    GroupEpoch: streams.STREAMS_GROUP_METADATA,
    EpochMember: streams.STREAMS_GROUP_MEMBER_METADATA,
    TargetEpoch: streams.STREAMS_GROUP_TARGET_ASSIGNMENT_METADATA,
    MemberTarget: streams.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER,
    CurrentAssignment: streams.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT,
    Topology: streams.STREAMS_GROUP_TOPOLOGY,
}
TABLES = {GroupType.CONSUMER: CONSUMER, GroupType.SHARE: SHARE, GroupType.STREAMS: STREAMS}


def posted(observation, offset, partition=0):
    """The ledger's record of a `GroupRecord` or an `EpochRecord`."""
    key, value = _classic(observation) if isinstance(observation, GroupRecord) else _epoch(observation)
    return LogRecord(RecordPosition("__consumer_offsets", partition, offset), observation.timestamp_ms, key, value)


def ledger_of(events, records, *, once=False, **window):
    """The audit's report on these events and records of the cluster ``cluster``."""
    ledger = Ledger("cluster", once=once)
    for number, event in enumerate(events, 1):
        ledger.add_event(event, RecordPosition("events", -1, number))
    ledger.expect(AuditWindow(**window))
    for record in records:
        ledger.add_record(record)
    return ledger.close()


def _classic(observation):
    key = GROUP_METADATA.key.encode(2, {"group": observation.group})
    value = observation.value
    if value is None:
        return key, None
    fields = {
        "protocol_type": value.protocol_type,
        "generation": value.generation,
        "protocol": value.protocol,
        "leader": value.leader,
        "current_state_timestamp": value.current_state_timestamp_ms,
        "members": [
            {
                "member_id": each.member_id,
                "group_instance_id": each.instance_id,
                "client_id": each.client_id,
                "client_host": each.client_host,
                "rebalance_timeout": each.rebalance_timeout_ms,
                "session_timeout": each.session_timeout_ms,
                "subscription": encode_subscription(each.subscription),
                "assignment": encode_assignment(each.assignment),
            }
            for each in value.members
        ],
    }
    return key, GROUP_METADATA.value.encode(3, fields)


def _epoch(observation):
    table, subject = TABLES[observation.group_type][observation.kind], observation.subject
    key = table.key.encode(table.key.versions[0], {"group": observation.group, "member_id": subject})
    value = observation.value
    if value is None:
        return key, None
    fields = _streams(value) if observation.group_type is GroupType.STREAMS else _named(value)
    return key, table.value.encode(table.value.versions[-1], fields)


def _fields(fact):
    match fact:
        case GroupEpoch():
            return {"epoch": fact.epoch, "metadata_hash": 0}
        case TargetEpoch():
            return {"assignment_epoch": fact.epoch}
        case CurrentAssignment():
            return {"member_epoch": fact.epoch, "previous_member_epoch": fact.previous_epoch}
        case EpochMember():
            return {
                "instance_id": fact.instance_id,
                "rack_id": fact.rack,
                "client_id": fact.client_id,
                "client_host": fact.client_host,
                "rebalance_timeout_ms": fact.rebalance_timeout_ms,
            }
    return {}


def _named(fact):
    """The fields of consumer and share groups: partitions are keyed by topic id."""
    match fact:
        case MemberTarget():
            more = {"topic_partitions": _rows("topic_id", fact.assigned)}
        case CurrentAssignment():
            more = {
                "state": STATES[fact.state],
                "assigned_partitions": _dated("topic_id", fact),
                "partitions_pending_revocation": _rows("topic_id", fact.revoking),
            }
        case EpochMember():
            more = {
                "subscribed_topic_names": fact.topics,
                "subscribed_topic_regex": fact.pattern,
                "server_assignor": fact.assignor,
                "classic_member_metadata": None,
            }
        case _:
            more = {}
    return _fields(fact) | more


def _streams(fact):
    """The fields of streams groups: tasks by subtopology."""
    match fact:
        case MemberTarget():
            more = _tasks(active=fact.assigned, standby=fact.standbys)
        case CurrentAssignment():
            more = {"state": STATES[fact.state] + 1, **_tasks(active=fact.assigned, standby=fact.standbys)}
            more["active_tasks"] = _dated("subtopology_id", fact)
            more |= {f"{name}_pending_revocation": [] for name in ("standby_tasks", "warmup_tasks")}
            more["active_tasks_pending_revocation"] = _rows("subtopology_id", fact.revoking)
        case EpochMember():
            more = {"topology_epoch": 0, "process_id": fact.process or "p", "user_endpoint": None, "client_tags": []}
        case Topology():
            more = {"epoch": 0, "subtopologies": [_subtopology(*each) for each in fact.sources.items()]}
        case _:
            more = {}
    return _fields(fact) | more


def _subtopology(name, sources):
    lists = (
        "source_topic_regex", "state_changelog_topics", "repartition_sink_topics", "repartition_source_topics",
        "copartition_groups",
    )  # fmt: skip
    return {"subtopology_id": name, "source_topics": sources, **{each: [] for each in lists}}


def _tasks(*, active, standby):
    rows = {"active": active, "standby": standby, "warmup": {}}
    return {f"{name}_tasks": _rows("subtopology_id", partitions) for name, partitions in rows.items()}


def _dated(name, fact):
    """The assigned partitions with their epochs."""
    return [row | {"assignment_epochs": fact.assigned_in.get(row[name], ())} for row in _rows(name, fact.assigned)]


def _rows(name, partitions):
    return [{name: key, "partitions": numbers} for key, numbers in partitions.items()]
