"""The tracker's facts about a member of a consumer group, by the form of its record."""

import pytest

from rebalance_agent.groupprotocol.group_fact import group_fact
from rebalance_agent.groupprotocol.records import decode_record
from rebalance_agent.groupprotocol.tables import consumer_groups as consumer
from rebalance_agent.groupprotocol.tables import share_groups as share
from rebalance_agent.groupprotocol.tables import streams_groups as streams
from rebalance_agent.groupprotocol.tables.consumer_groups import CONSUMER_GROUP_MEMBER_METADATA as TABLE
from rebalance_agent.groupprotocol.wire.primitives import ZERO_UUID
from rebalance_agent.model.epoch_groups import CurrentAssignment, MemberState, MemberTarget

KEY = TABLE.key.encode(5, {"group": "g", "member_id": "m"})
FIELDS = {
    "instance_id": None,
    "rack_id": None,
    "client_id": "client",
    "client_host": "/10.0.0.1",
    "subscribed_topic_names": ["t"],
    "subscribed_topic_regex": "",
    "rebalance_timeout_ms": 60_000,
    "server_assignor": None,
}


@pytest.mark.parametrize(
    ("assignors", "classic", "eager"),
    [
        ((), False, False),
        (("range",), True, True),
        (("cooperative-sticky",), True, False),
        (("stream",), True, False),
        (("range", "cooperative-sticky"), True, True),
        (("cooperative-sticky", "range"), True, True),
    ],
)
def test_a_member_that_speaks_the_classic_protocol_is_eager_unless_all_its_assignors_are_cooperative(
    assignors, classic, eager
):
    listed = [{"name": name, "metadata": b""} for name in assignors]
    metadata = {"session_timeout_ms": 45_000, "supported_protocols": listed} if assignors else None
    value = TABLE.value.encode(0, {**FIELDS, "classic_member_metadata": metadata})
    member = group_fact(decode_record(KEY, value)).value
    assert (member.classic, member.eager) == (classic, eager)
    assert member.session_timeout_ms == (45_000 if assignors else None)


CLAIMED = (-1, 5, 1_000_000, 2**31 - 1)
TOPICS = [{"topic_id": ZERO_UUID, "partitions": CLAIMED}]
TASKS = [{"subtopology_id": "0", "partitions": CLAIMED}]
BY_TOPIC, BY_TASK = {ZERO_UUID: (5,)}, {"0": (5,)}
EPOCHS = {"member_epoch": 3, "previous_member_epoch": 2, "state": 1}
OF_TASKS = {f"{kind}_tasks": TASKS for kind in ("active", "standby", "warmup")}
REVOKED = {f"{kind}_tasks_pending_revocation": TASKS for kind in ("active", "standby", "warmup")}
OF_TOPICS = {"assigned_partitions": TOPICS, "partitions_pending_revocation": TOPICS}


@pytest.mark.parametrize(
    ("table", "fields", "fact"),
    [
        (consumer.CONSUMER_GROUP_TARGET_ASSIGNMENT_MEMBER, {"topic_partitions": TOPICS}, MemberTarget(BY_TOPIC)),
        (share.SHARE_GROUP_TARGET_ASSIGNMENT_MEMBER, {"topic_partitions": TOPICS}, MemberTarget(BY_TOPIC)),
        (streams.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER, OF_TASKS, MemberTarget(BY_TASK, BY_TASK)),
        (
            consumer.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT,
            EPOCHS | OF_TOPICS,
            CurrentAssignment(3, 2, MemberState.UNREVOKED, BY_TOPIC, BY_TOPIC),
        ),
        (
            share.SHARE_GROUP_CURRENT_MEMBER_ASSIGNMENT,
            EPOCHS | {"assigned_partitions": TOPICS},
            CurrentAssignment(3, 2, MemberState.UNREVOKED, BY_TOPIC),
        ),
        (
            streams.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT,
            EPOCHS | OF_TASKS | REVOKED,
            CurrentAssignment(3, 2, MemberState.STABLE, BY_TASK, BY_TASK, BY_TASK),
        ),
    ],
)
def test_impossible_partition_numbers_are_omitted(table, fields, fact):
    key = table.key.encode(table.key.versions[0], {"group": "g", "member_id": "m"})
    assert group_fact(decode_record(key, table.value.encode(0, fields))).value == fact


@pytest.mark.parametrize(
    ("rows", "assigned_in"),
    [
        ([((5, 2), (7, 300))], {ZERO_UUID: (300, 7)}),
        ([((2,), (7,)), ((5, -1), (9, 9))], {ZERO_UUID: (7, 9)}),
        ([((5, 2), ())], {}),
        ([((5, 2), None)], {}),
        ([((5, 2), (7,))], {}),
        ([((2,), (7,)), ((5,), ())], {}),
    ],
)
def test_epochs_of_partitions_are_in_the_partitions_order_or_absent(rows, assigned_in):
    table = consumer.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT
    key = table.key.encode(8, {"group": "g", "member_id": "m"})
    rows = [{"topic_id": ZERO_UUID, "partitions": p, "assignment_epochs": epochs} for p, epochs in rows]
    fields = EPOCHS | {"assigned_partitions": rows, "partitions_pending_revocation": []}
    fact = group_fact(decode_record(key, table.value.encode(0, fields))).value
    assert (fact.assigned, fact.assigned_in) == ({ZERO_UUID: (2, 5)}, assigned_in)
