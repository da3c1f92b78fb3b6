"""Descriptions of groups whose coordinator assigns, from the bytes of Kafka's own classes."""

from __future__ import annotations

import base64
import json
import re
import sys
from pathlib import Path

import pytest

from rebalance_agent.cluster.describing.broker_client import client_settings
from rebalance_agent.cluster.describing.epoch_answers import described_epochs, refusal
from rebalance_agent.cluster.describing.epoch_describer import EpochDescriber, Place
from rebalance_agent.errors import ClusterError, InvalidInputError
from rebalance_agent.groupprotocol.requests.consumer_group_describe import CONSUMER_DESCRIBE
from rebalance_agent.groupprotocol.requests.streams_group_describe import STREAMS_DESCRIBE
from rebalance_agent.model.group import GroupState, GroupType, StreamsMember

GOLDEN = json.loads((Path(__file__).parents[3] / "golden" / "kafkas_own_bytes.json").read_text(encoding="utf-8"))
ROWS = {(row["api"], row["version"], bool(row["kafkas_groups"][0]["members"])): row for row in GOLDEN["describes"]}
HEAD = b"\0\0\0\7\0"


def frame(api, version, *, members=True):
    return HEAD + base64.b64decode(ROWS[api, version, members]["answer"])


def test_a_consumer_group_has_epochs_assignments_and_targets():
    (group,) = CONSUMER_DESCRIBE.decode(frame("ConsumerGroupDescribe", 1), 1)
    described = described_epochs(group, GroupType.CONSUMER)
    assert (described.group, described.state, described.assignor) == ("orders", GroupState.RECONCILING, "uniform")
    assert (described.epochs.epoch, described.epochs.target_epoch) == (9, 8)
    (member,) = described.epochs.members
    assert (member.epoch, member.target) == (8, {})
    assert (member.member.instance_id, member.member.assigned) == ("static-1", {"clicks": (0, 7)})
    assert member.member.subscription.topics == ("clicks", "payments")
    assert described.members[0].assigned == {"clicks": (0, 7)}


def test_a_static_member_that_is_away_owns_nothing():
    (group,) = CONSUMER_DESCRIBE.decode(frame("ConsumerGroupDescribe", 0), 0)
    group["members"][0]["member_epoch"] = -2
    assert described_epochs(group, GroupType.CONSUMER).epochs.members[0].member.assigned == {}


def test_tasks_of_a_streams_group_are_partitions_of_their_topics():
    (group,) = STREAMS_DESCRIBE.decode(frame("StreamsGroupDescribe", 0), 0)
    members = described_epochs(group, GroupType.STREAMS).epochs.members
    assert members[0].member.assigned == {"clicks": (1, 2), "store-changelog": (1, 2)}


def test_a_member_of_a_streams_group_has_its_tasks_endpoint_and_process():
    (group,) = STREAMS_DESCRIBE.decode(frame("StreamsGroupDescribe", 0), 0)
    first, second = described_epochs(group, GroupType.STREAMS).members
    tasks = {"active": {"0": (1, 2)}, "standby": {"0": (3,)}, "warmup": {"1": (4,)}}
    assert first.streams == StreamsMember("p-1", "h:65000", **tasks)
    assert second.streams == StreamsMember("p-1", None, **tasks)


def test_a_streams_member_that_is_away_has_no_tasks():
    (group,) = STREAMS_DESCRIBE.decode(frame("StreamsGroupDescribe", 0), 0)
    group["members"][0]["member_epoch"] = -2
    assert described_epochs(group, GroupType.STREAMS).members[0].streams == StreamsMember("p-1", "h:65000")


def test_a_group_with_an_error_is_not_described():
    (group,) = STREAMS_DESCRIBE.decode(frame("StreamsGroupDescribe", 0, members=False), 0)
    assert described_epochs(group, GroupType.STREAMS) is None


class FakeClient:
    """Answers each request with the same frame."""

    def __init__(self, answer, newest):
        self.answer, self._newest, self.sent = answer, newest, []

    def newest(self, _key, versions):
        return max((version for version in versions if version <= self._newest), default=None)

    def __call__(self, requests):
        self.sent += [(node, request.api_key, request.api_version) for node, request in requests]
        return [self.answer for _ in requests]


ORDERS = {"orders": Place(GroupType.CONSUMER, 2)}


def test_groups_are_described_by_their_coordinators_in_the_newest_known_version():
    client = FakeClient(frame("ConsumerGroupDescribe", 1), 7)
    answer = EpochDescriber(client).describe(ORDERS)
    assert ([each.group for each in answer.groups], answer.refused) == (["orders"], {})
    assert client.sent == [(2, 69, 1)]


def test_a_broker_without_the_api_is_not_asked():
    client = FakeClient(b"", -1)
    answer = EpochDescriber(client).describe({"orders": Place(GroupType.STREAMS, 2)})
    assert (answer.groups, client.sent) == ([], [])
    assert "StreamsGroupDescribe" in answer.refused["orders"]


@pytest.mark.parametrize(
    ("answered", "reason"),
    [
        (ClusterError("broker 2: timed out"), "broker 2: timed out"),
        (b"\0", r"ConsumerGroupDescribeResponse v1.*"),
    ],
)
def test_a_broker_that_fails_or_cannot_be_read_refuses_its_groups(answered, reason):
    answer = EpochDescriber(FakeClient(answered, 1)).describe(ORDERS)
    assert answer.groups == []
    assert re.match(reason, answer.refused["orders"])


def test_groups_that_were_not_asked_for_are_ignored():
    answer = EpochDescriber(FakeClient(frame("ConsumerGroupDescribe", 1), 1)).describe(
        {"other": Place(GroupType.CONSUMER, 2)}
    )
    assert (answer.groups, answer.refused) == ([], {})


def test_an_equal_response_is_decoded_once():
    client = FakeClient(frame("ConsumerGroupDescribe", 1), 1)
    describer = EpochDescriber(client)

    def first():
        describer.begin_round()
        return describer.describe(ORDERS, repeated=True).groups[0]

    before = first()
    client.answer = b"\1\1\1\1" + client.answer[4:]  # another correlation id
    assert first() is before
    client.answer = client.answer.replace(b"Reconciling", b"Unreleasing")
    assert describer.describe(ORDERS, repeated=True).refused, "a response that differs is decoded"


@pytest.mark.parametrize(
    ("error", "message", "state", "reason"),
    [
        (0, None, "Stable", None),
        (69, "Group orders not found.", "", None),
        (16, None, "", None),
        (30, None, "", "error 30"),
        (29, "not authorized", "", "error 29: not authorized"),
        (0, None, "Resting", "its state 'Resting' is unknown to this release"),
    ],
)
def test_a_group_is_refused_for_a_reason_unless_it_is_gone_or_its_coordinator_moves(error, message, state, reason):
    assert refusal({"error_code": error, "error_message": message, "group_state": state}) == reason


def test_without_kafka_python_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "rebalance_agent.clients.confluent_assignors.config.security", None)
    with pytest.raises(InvalidInputError, match=r"pip install '\.\[kafka-python\]'"):
        client_settings({"bootstrap.servers": "a:1"}, 3.0)


def test_the_login_is_that_of_librdkafka():
    login = {
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "u",
        "sasl.password": "p",
    }
    settings = client_settings({"bootstrap.servers": "a:1,b:2", "client.id": "c", **login}, 3.0)
    assert settings["bootstrap_servers"] == ["a:1", "b:2"]
    assert (settings["sasl_mechanism"], settings["sasl_plain_username"]) == ("PLAIN", "u")
    assert settings["request_timeout_ms"] == 3_000


def test_a_login_without_a_translation_is_refused():
    with pytest.raises(InvalidInputError, match=r"ssl\.key\.pem"):
        client_settings({"bootstrap.servers": "a:1", "security.protocol": "ssl", "ssl.key.pem": "x"}, 3.0)
