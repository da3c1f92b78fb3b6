"""Impossible partition numbers in a record have no owner, and events remain decodable."""

from __future__ import annotations

import json

import pytest

from rebalance_agent.groupprotocol.consumer_protocol import encode_assignment, encode_subscription
from rebalance_agent.groupprotocol.tables import GROUP_METADATA
from rebalance_agent.groupprotocol.tables import consumer_groups as consumer
from rebalance_agent.model.event_json import event_from_json, json_line
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from rebalance_agent.offsets_topic.group_records import GroupRecords
from support.observer.fakes import FakeRecord, fake_context
from support.tracker.epochs import ID, named
from support.tracker.tracking import T0, WHOLE, closing, tick, topics, watch

CLAIMED = (-1, 0, 1, 1_000_000, 2**31 - 1)
MEMBER = {"group": "g", "member_id": "m"}
CLIENT = {"client_id": "c", "client_host": "/h"}


def _classic():
    subscription = encode_subscription(ConsumerSubscription(3, ("t",), None, {"t": CLAIMED}))
    assignment = encode_assignment(ConsumerAssignment(3, {"t": CLAIMED}))
    sent = {"rebalance_timeout": 60_000, "session_timeout": 10_000, "subscription": subscription}
    member = {"member_id": "m", "group_instance_id": None, **CLIENT, **sent, "assignment": assignment}
    fields = {"protocol_type": "consumer", "generation": 1, "protocol": "range", "leader": "m", "members": [member]}
    return [(GROUP_METADATA, 4, fields | {"current_state_timestamp": T0})]


def _of_epochs():
    rows = [{"topic_id": ID, "partitions": CLAIMED}]
    named = {"instance_id": None, "rack_id": None, **CLIENT, "subscribed_topic_names": ["t"]}
    chosen = {"subscribed_topic_regex": None, "rebalance_timeout_ms": 60_000, "server_assignor": None}
    current = {"member_epoch": 2, "previous_member_epoch": 1, "state": 0, "assigned_partitions": rows}
    return [
        (consumer.CONSUMER_GROUP_MEMBER_METADATA, 0, named | chosen | {"classic_member_metadata": None}),
        (consumer.CONSUMER_GROUP_METADATA, 0, {"epoch": 2}),
        (consumer.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER, 0, {"topic_partitions": rows}),
        (consumer.CONSUMER_GROUP_TARGET_ASSIGNMENT_METADATA, 0, {"assignment_epoch": 2}),
        (consumer.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, 0, current | {"partitions_pending_revocation": rows}),
    ]


def _record(table, version, fields):
    key = table.key.encode(table.key.versions[-1], MEMBER)
    return FakeRecord(key, table.value.encode(version, fields), timestamp_ms=T0 + 1_000)


@pytest.mark.parametrize("rows", [_classic(), _of_epochs()], ids=["classic", "consumer"])
def test_impossible_partition_numbers_reach_no_event(rows):
    context = fake_context()
    context.clock.advance(T0 + 1_000 - context.clock.now_ms())
    read = GroupRecords(context)
    observed = [read.decode(_record(*row), live=True) for row in rows]
    assert None not in observed
    _, events = watch(WHOLE, topics(0, t=2), named(0, t=2), *observed, tick(60_000))
    (event,) = closing(events)
    assert event.members[0].assigned == {"t": (0, 1)}
    for each in events:
        assert event_from_json(json.loads(json_line(each))) == each
