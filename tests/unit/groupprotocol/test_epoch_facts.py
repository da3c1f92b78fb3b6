"""The tracker's facts about a member of a consumer group, by the form of its record."""

import base64
import json
from pathlib import Path

import pytest

from rebalance_agent.groupprotocol.group_fact import group_fact
from rebalance_agent.groupprotocol.records import decode_record
from rebalance_agent.groupprotocol.tables import consumer_groups as consumer
from rebalance_agent.groupprotocol.tables import share_groups as share
from rebalance_agent.groupprotocol.tables import streams_groups as streams
from rebalance_agent.groupprotocol.tables.consumer_groups import CONSUMER_GROUP_MEMBER_METADATA as TABLE
from rebalance_agent.groupprotocol.wire.primitives import ZERO_UUID
from rebalance_agent.model.epoch_groups import CurrentAssignment, MemberState, MemberTarget
from rebalance_agent.model.group import StreamsMember

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
        (streams.STREAMS_GROUP_TARGET_ASSIGNMENT_MEMBER, OF_TASKS, MemberTarget(BY_TASK, BY_TASK, BY_TASK)),
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
            CurrentAssignment(3, 2, MemberState.STABLE, BY_TASK, BY_TASK, BY_TASK, BY_TASK),
        ),
    ],
)
def test_impossible_partition_numbers_are_omitted(table, fields, fact):
    key = table.key.encode(table.key.versions[0], {"group": "g", "member_id": "m"})
    assert group_fact(decode_record(key, table.value.encode(0, fields))).value == fact


GOLDEN = json.loads((Path(__file__).parents[2] / "golden" / "kafkas_own_bytes.json").read_text(encoding="utf-8"))
RECORDS = {row["about"]: row for row in GOLDEN["records"]}


def of_kafkas_bytes(about):
    row = RECORDS[f"streams group {about}"]
    return group_fact(decode_record(base64.b64decode(row["key"]), base64.b64decode(row["value"]))).value


def test_the_kinds_of_tasks_are_separate():
    current = of_kafkas_bytes("current member assignment")
    assert current.assigned == {"text 14": (16, 17), "text 6": (8, 9)}
    assert current.assigned_in == {"text 14": (19, 20), "text 6": (11, 12)}
    assert current.standbys == {"text 23": (25, 26), "text 31": (33, 34)}
    assert current.warmups == {"text 40": (42, 43), "text 48": (50, 51)}
    target = of_kafkas_bytes("target assignment member")
    assert (target.standbys, target.warmups) == (
        {"text 14": (16, 17), "text 19": (21, 22)},
        {"text 25": (27, 28), "text 30": (32, 33)},
    )


def test_a_streams_member_has_a_process_and_an_endpoint():
    member = of_kafkas_bytes("member metadata")
    assert (member.process, member.endpoint, member.topics) == ("text 7", "text 9:10", ())
    assert member.streams(of_kafkas_bytes("current member assignment")) == StreamsMember(
        "text 7",
        "text 9:10",
        {"text 14": (16, 17), "text 57": (59, 60), "text 6": (8, 9), "text 65": (67, 68)},
        {"text 23": (25, 26), "text 31": (33, 34)},
        {"text 40": (42, 43), "text 48": (50, 51)},
    )


@pytest.mark.parametrize(
    ("host", "shown"),
    [("a.example", "a.example:7001"), ("2001:db8::7", "[2001:db8::7]:7001"), ("h" * 30_000, f"{'h' * 255}:7001")],
)
def test_an_endpoint_is_short_and_an_address_of_ipv6_in_brackets(host, shown):
    table = streams.STREAMS_GROUP_MEMBER_METADATA
    key = table.key.encode(19, {"group": "g", "member_id": "m"})
    fields = {"instance_id": None, "rack_id": None, "client_id": "c", "client_host": "/h", "rebalance_timeout_ms": 1}
    fields |= {"topology_epoch": 0, "process_id": "p" * 30_000, "client_tags": []}
    value = table.value.encode(0, fields | {"user_endpoint": {"host": host, "port": 7001}})
    member = group_fact(decode_record(key, value)).value
    assert (member.endpoint, len(member.process)) == (shown, 255)


NONE = {name: [] for name in OF_TOPICS | OF_TASKS | REVOKED}


@pytest.mark.parametrize(
    ("table", "field", "name", "topic"),
    [
        (consumer.CONSUMER_GROUP_CURRENT_MEMBER_ASSIGNMENT, "assigned_partitions", "topic_id", ZERO_UUID),
        (streams.STREAMS_GROUP_CURRENT_MEMBER_ASSIGNMENT, "active_tasks", "subtopology_id", "0"),
    ],
    ids=["consumer", "streams"],
)
@pytest.mark.parametrize(
    ("rows", "epochs"),
    [
        ([((5, 2), (7, 300))], (300, 7)),
        ([((2,), (7,)), ((5, -1), (9, 9))], (7, 9)),
        ([((5, 2), ())], None),
        ([((5, 2), None)], None),
        ([((5, 2), (7,))], None),
        ([((2,), (7,)), ((5,), ())], None),
    ],
)
def test_epochs_of_partitions_are_in_the_partitions_order_or_absent(table, field, name, topic, rows, epochs):
    key = table.key.encode(table.key.versions[0], {"group": "g", "member_id": "m"})
    rows = [{name: topic, "partitions": numbers, "assignment_epochs": recorded} for numbers, recorded in rows]
    value = table.value.encode(0, EPOCHS | NONE | {field: rows})
    fact = group_fact(decode_record(key, value)).value
    assert (fact.assigned, fact.assigned_in) == ({topic: (2, 5)}, {topic: epochs} if epochs else {})
