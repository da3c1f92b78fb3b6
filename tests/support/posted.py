"""What was observed, as the bytes that a coordinator wrote, and a ledger over them."""

from __future__ import annotations

from rebalance_agent.groupprotocol.consumer import encode_assignment, encode_subscription
from rebalance_agent.groupprotocol.tables import GROUP_METADATA
from rebalance_agent.groupprotocol.tables import consumer as tables
from rebalance_agent.ledger.entries import Record
from rebalance_agent.ledger.ledger import Ledger, Window
from rebalance_agent.ledger.sheets import Place
from rebalance_agent.model.epochs import (
    CurrentAssignment,
    EpochMember,
    GroupEpoch,
    MemberState,
    MemberTarget,
    TargetEpoch,
)
from rebalance_agent.rebalances.observations import GroupRecord

STATES = {MemberState.STABLE: 0, MemberState.UNREVOKED: 1, MemberState.UNRELEASED: 2}

TABLES = {
    GroupEpoch: tables.CONSUMER_GROUP_METADATA,
    EpochMember: tables.CONSUMER_GROUP_MEMBER_METADATA,
    TargetEpoch: tables.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA,
    MemberTarget: tables.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER,
    CurrentAssignment: tables.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
}


def posted(observation, offset, partition=0):
    """The ledger's record of a `GroupRecord`, or of an `EpochRecord` of a consumer group."""
    key, value = _classic(observation) if isinstance(observation, GroupRecord) else _epoch(observation)
    return Record(Place("__consumer_offsets", partition, offset), observation.timestamp_ms, key, value)


def ledger_of(events, records, **window):
    """The report on these events and records of ``cluster``."""
    ledger = Ledger("cluster")
    for number, event in enumerate(events, 1):
        ledger.tell(event, Place("events", -1, number))
    ledger.expect(Window(**window))
    for record in records:
        ledger.post(record)
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
    table, subject = TABLES[observation.kind], observation.subject
    key = table.key.encode(table.key.versions[0], {"group": observation.group, "member_id": subject})
    return key, None if observation.value is None else table.value.encode(0, _fields(observation.value))


def _fields(fact):
    match fact:
        case GroupEpoch():
            return {"epoch": fact.epoch}
        case TargetEpoch():
            return {"assignment_epoch": fact.epoch}
        case MemberTarget():
            return {"topic_partitions": _rows(fact.assigned)}
        case CurrentAssignment():
            return {
                "member_epoch": fact.epoch,
                "previous_member_epoch": fact.previous_epoch,
                "state": STATES[fact.state],
                "assigned_partitions": _rows(fact.assigned),
                "partitions_pending_revocation": _rows(fact.revoking),
            }
        case EpochMember():
            return {
                "instance_id": fact.instance_id,
                "rack_id": fact.rack,
                "client_id": fact.client_id,
                "client_host": fact.client_host,
                "subscribed_topic_names": fact.topics,
                "subscribed_topic_regex": fact.pattern,
                "rebalance_timeout_ms": fact.rebalance_timeout_ms,
                "server_assignor": fact.assignor,
                "classic_member_metadata": None,
            }
    raise TypeError(fact)


def _rows(partitions):
    return [{"topic_id": topic, "partitions": numbers} for topic, numbers in partitions.items()]
