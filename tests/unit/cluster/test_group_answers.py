"""librdkafka's descriptions of groups, from a client that responds at once."""

from __future__ import annotations

import json
from concurrent.futures import Future
from types import SimpleNamespace

import pytest
from confluent_kafka import ConsumerGroupState, ConsumerGroupType, KafkaError, KafkaException

from rebalance_agent.cluster import admin_client as module
from rebalance_agent.cluster.admin_answers import AdminAnswers
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.cluster.describing.answer_lines import (
    offsets_request_line,
    read_answer,
    read_offsets,
    request_line,
)
from rebalance_agent.cluster.describing.connection_errors import ConnectionErrors
from rebalance_agent.cluster.describing.describing_process import answer_lines
from rebalance_agent.errors import AccessDeniedError, ClusterError
from rebalance_agent.model.group import GroupState, GroupType

CLASSIC, CONSUMER, NAMELESS = ConsumerGroupType.CLASSIC, ConsumerGroupType.CONSUMER, ConsumerGroupType.UNKNOWN
STABLE, DEAD, UNKNOWN = ConsumerGroupState.STABLE, ConsumerGroupState.DEAD, ConsumerGroupState.UNKNOWN


def group(name, state=STABLE, kind=CLASSIC, assigned=(("t", 0),)):
    partitions = [SimpleNamespace(topic=topic, partition=number) for topic, number in assigned]
    assignment = SimpleNamespace(topic_partitions=partitions)
    member = SimpleNamespace(member_id="m", group_instance_id=None, client_id="c", host="/h", assignment=assignment)
    return SimpleNamespace(
        group_id=name,
        state=state,
        type=kind,
        partition_assignor="range",
        members=[member],
        authorized_operations=None,
        coordinator=SimpleNamespace(id=7),
    )


def future(answer):
    made = Future()
    (made.set_exception if isinstance(answer, Exception) else made.set_result)(answer)
    return made


def failed(code):
    return KafkaException(KafkaError(code))


@pytest.fixture
def answering(monkeypatch):
    """A cluster with these responses of coordinators, by group."""

    def make(answers):
        class Client:
            def __init__(self, _settings):
                pass

            def list_consumer_groups(self, **_options):
                return future(SimpleNamespace(valid=list(answers.values()), errors=[]))

            def describe_consumer_groups(self, names, **_options):
                return {name: future(answers[name]) for name in names}

            def list_consumer_group_offsets(self, asked, **_options):
                [name] = [each.group_id for each in asked]
                return {name: future(answers[name])}

            def poll(self, _seconds):
                pass

        class Described:
            """The describing process's lines without the process."""

            def __init__(self, _properties, timeout):
                self._ask = AdminAnswers(timeout)

            def __call__(self, groups):
                request = json.loads(request_line(groups, operations=False))
                return dict(map(read_answer, answer_lines(Client({}), self._ask, request, ConnectionErrors(""))))

            def committed(self, groups):
                request = json.loads(offsets_request_line(groups))
                return dict(map(read_offsets, answer_lines(Client({}), self._ask, request, ConnectionErrors(""))))

        monkeypatch.setattr(module, "AdminClient", Client)
        monkeypatch.setattr(module, "IsolatedDescriber", Described)
        return Cluster({})

    return make


def test_a_consumer_group_with_a_state_unknown_to_librdkafka_is_reconciling_and_a_streams_group_is_omitted(
    answering,
):
    cluster = answering({"a": group("a", UNKNOWN, CONSUMER), "b": group("b", UNKNOWN, NAMELESS), "c": group("c")})
    expected = [
        ("a", GroupState.RECONCILING, GroupType.CONSUMER),
        ("c", GroupState.STABLE, GroupType.CLASSIC),
    ]
    listed = cluster.list_groups()
    assert [(each.group, each.state, each.group_type) for each in listed.groups] == expected
    described = cluster.describe_groups(["a", "b", "c"])
    assert [(each.group, each.state, each.group_type) for each in described] == expected
    assert [each.members[0].assigned for each in described] == [{"t": (0,)}] * 2
    assert [each.coordinator for each in described] == [7, 7]


def test_impossible_partition_numbers_are_omitted(answering):
    """Otherwise a leader's data would be on pages that `watch` and `explain` cannot parse."""
    claimed = [("t", number) for number in (-1, 0, 999_999, 1_000_000, 2**31 - 1)]
    (described,) = answering({"g": group("g", assigned=[*claimed, ("u", -5)])}).describe_groups(["g"])
    assert described.members[0].assigned == {"t": (0, 999_999)}


def test_an_unknown_group_is_a_response_and_no_failure(answering):
    answers = {"gone": failed(KafkaError.GROUP_ID_NOT_FOUND), "dead": group("dead", DEAD), "alive": group("alive")}
    cluster = answering(answers)
    assert cluster.describe_groups(["gone"]) == []
    assert cluster.absent_groups(list(answers)) == {"gone", "dead"}


def test_only_a_group_that_does_not_exist_is_absent(answering):
    answers = {
        "denied": failed(KafkaError.GROUP_AUTHORIZATION_FAILED),
        "loading": failed(KafkaError.COORDINATOR_LOAD_IN_PROGRESS),
        "moved": failed(KafkaError.NOT_COORDINATOR),
        "assigning": group("assigning", UNKNOWN, CONSUMER),
        "gone": failed(KafkaError.GROUP_ID_NOT_FOUND),
    }
    cluster = answering(answers)
    assert cluster.absent_groups(list(answers)) == {"gone"}
    with pytest.raises(AccessDeniedError):
        cluster.absent_groups(["denied"])
    with pytest.raises(ClusterError):
        cluster.describe_groups(["loading", "moved"])


def test_committed_offsets_are_those_of_the_groups_whose_coordinators_answer(answering):
    commits = [SimpleNamespace(topic="t", partition=number, offset=offset) for number, offset in ((0, 7), (1, -1001))]
    answers = {"g": SimpleNamespace(topic_partitions=commits), "moved": failed(KafkaError.NOT_COORDINATOR)}
    assert answering(answers).committed(["g", "moved"]) == {"g": {("t", 0): 7}}
    with pytest.raises(ClusterError, match="asking for committed offsets"):
        answering(answers).committed(["moved"])
