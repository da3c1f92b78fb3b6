"""Our decoders read Kafka's bytes (see ``make_kafkas_own_bytes.py``) with the same result as Kafka."""

from __future__ import annotations

import base64
import json
from pathlib import Path

import pytest

from rebalance_agent.cli.main import main
from rebalance_agent.groupprotocol.classic_group import classic_group
from rebalance_agent.groupprotocol.consumer_protocol import (
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from rebalance_agent.groupprotocol.records import decode_record, record_kind
from rebalance_agent.groupprotocol.requests.txn_offset_commit import decode_txn_commit, decode_txn_commit_answer
from rebalance_agent.groupprotocol.user_data import (
    decode_cooperative_sticky,
    decode_sticky,
    encode_generation,
    encode_sticky,
)
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription, MemberUserData

FOLDER = Path(__file__).parent
GOLDEN = json.loads((FOLDER / "kafkas_own_bytes.json").read_text(encoding="utf-8"))
PARTITIONS = {"clicks": (0, 2), "payments": (4,)}
NO_TOPIC_ID = "AAAAAAAAAAAAAAAAAAAAAA"


def kafkas_names(value):
    """Our fields in Kafka's names and JSON."""
    if isinstance(value, dict):
        words = {name: name.split("_") for name in value}
        return {
            first + "".join(word.capitalize() for word in rest): kafkas_names(value[name])
            for name, (first, *rest) in words.items()
            if value[name] != NO_TOPIC_ID  # Kafka omits a tagged field with its default
        }
    if isinstance(value, list | tuple):
        return [kafkas_names(item) for item in value]
    return base64.b64encode(value).decode() if isinstance(value, bytes) else value


def raw(row):
    return base64.b64decode(row["key"]), base64.b64decode(row["value"])


@pytest.mark.parametrize("row", GOLDEN["records"], ids=lambda row: row["about"])
def test_a_record_of_kafka_is_decoded_like_kafka(row):
    record = decode_record(*raw(row))
    group = "group" if record.kind in {"offset_commit", "group_metadata"} else "groupId"
    key = {group if name == "group" else name: field for name, field in kafkas_names(record.key).items()}
    assert key == row["kafkas_key"]
    assert record.value_version == row["kafkas_value_version"]
    assert kafkas_names(record.value) == row["kafkas_value"]
    assert record.unknown_tags == 0
    assert record_kind(raw(row)[0]) == record.kind


def test_every_version_of_a_groups_record_is_the_same_group_except_for_missing_fields():
    groups = {}
    for row in GOLDEN["records"]:
        if row["about"].startswith("group metadata"):
            groups[row["kafkas_value_version"]] = classic_group(decode_record(*raw(row)))
    assert sorted(groups) == [0, 1, 2, 3, 4]
    for version, group in groups.items():
        assert (group.group, group.generation, group.protocol_type) == ("orders", 7, "consumer")
        assert (group.protocol, group.leader) == ("cooperative-sticky", "consumer-0-id")
        assert group.current_state_timestamp_ms == (1_700_000_000_123 if version >= 2 else -1)
        first, second = group.members
        assert (first.owned, first.assigned) == (PARTITIONS, PARTITIONS)
        assert (second.owned, second.assigned) == ({}, PARTITIONS)
        assert second.instance_id == ("static-1" if version >= 3 else None)
        assert first.rebalance_timeout_ms == (300_000 if version >= 1 else -1)
        assert first.session_timeout_ms == 45_000


@pytest.mark.parametrize("version", range(4))
def test_a_subscription_of_kafkas_client_is_decoded_completely_and_encoded_to_the_same_bytes(version):
    data = base64.b64decode(GOLDEN["subscriptions"][str(version)])
    subscription = decode_subscription(data)
    assert subscription == ConsumerSubscription(
        version=version,
        topics=("clicks", "payments"),
        user_data=b"\0\0\0\6",
        owned_partitions=PARTITIONS if version >= 1 else {},
        generation_id=6 if version >= 2 else -1,
        rack_id="rack-1" if version >= 3 else None,
    )
    assert encode_subscription(subscription) == data


@pytest.mark.parametrize("version", range(4))
def test_an_assignment_of_kafkas_client_is_decoded_completely(version):
    assignment = decode_assignment(base64.b64decode(GOLDEN["assignments"][str(version)]))
    assert assignment == ConsumerAssignment(version, PARTITIONS)
    assert decode_assignment(encode_assignment(assignment)) == assignment


def test_the_user_data_of_kafkas_sticky_assignor_is_read_with_and_without_its_generation():
    data = base64.b64decode(GOLDEN["sticky_user_data"])
    assert decode_sticky(data) == MemberUserData(owned=PARTITIONS, generation=6)
    assert decode_sticky(data[:-4]) == MemberUserData(owned=PARTITIONS)


def test_our_sticky_user_data_equals_kafkas_except_for_the_order_of_partitions():
    data = base64.b64decode(GOLDEN["sticky_user_data"])
    in_kafkas_order = {"payments": (4,), "clicks": (2, 0)}
    assert encode_sticky(MemberUserData(owned=in_kafkas_order, generation=6)) == data


def test_the_user_data_of_kafkas_cooperative_sticky_assignor_equals_ours():
    data = base64.b64decode(GOLDEN["cooperative_sticky_user_data"])
    assert decode_cooperative_sticky(data) == MemberUserData(generation=6)
    assert encode_generation(MemberUserData(generation=6)) == data


def test_a_transactional_commit_by_topic_ids_and_its_answer_are_read():
    body, answer = (base64.b64decode(GOLDEN["txn_commits_by_topic_ids"][name]) for name in ("request", "answer"))
    commit = decode_txn_commit(b"\0\x1c\0\6\0\0\0\7\0\3app\0" + body)
    assert (commit.group_id, commit.member_id, commit.group_instance_id) == ("orders", "consumer-0-id", "static-1")
    assert commit.generation_id == 9
    (topic,) = commit.topics
    assert topic.topic_id == "AAECAwQFBgcICQoLDA0ODw"
    assert [(each.partition_index, each.committed_offset) for each in topic.partitions] == [(0, 42), (7, 42)]
    (topic,) = decode_txn_commit_answer(b"\0\0\0\7\0" + answer).topics
    assert [(each.partition_index, each.error_code) for each in topic.partitions] == [(0, 0), (7, 22)]


def test_the_decode_command_prints_the_golden_output(capsys):
    assert main(["decode", str(FOLDER / "decode_input.ndjson")]) == 1
    assert capsys.readouterr().out == (FOLDER / "decode_output.ndjson").read_text(encoding="utf-8")
