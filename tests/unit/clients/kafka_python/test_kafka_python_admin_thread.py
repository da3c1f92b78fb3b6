"""The requests of kafka-python's consumers on an additional connection, with a fake admin client."""

from __future__ import annotations

import re
import threading
from types import SimpleNamespace

import pytest
from kafka import TopicPartition
from kafka.admin import OffsetSpec

from rebalance_agent.assignors import strategy
from rebalance_agent.clients.kafka_python import admin_thread as module
from rebalance_agent.clients.kafka_python.admin_thread import AdminThread
from rebalance_agent.clients.kafka_python.inconsistent_protocol import why_refused
from rebalance_agent.clients.kafka_python.internal_topics import InternalTopics
from rebalance_agent.clients.kafka_python.lags import Lags
from rebalance_agent.clients.participant import Participant
from rebalance_agent.errors import ClusterError, InternalTopicError
from rebalance_agent.model.subscription import MemberSubscription, TopicMetadata


class Admin:
    """Replaces kafka-python's admin client; ``made``: the settings of each instance."""

    DEFAULT_CONFIG = module.KafkaAdminClient.DEFAULT_CONFIG
    made: list

    def __init__(self, **configs):
        self.made.append(configs)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass


@pytest.fixture
def admin(monkeypatch):
    monkeypatch.setattr(Admin, "made", [], raising=False)
    monkeypatch.setattr(module, "KafkaAdminClient", Admin)
    return Admin


def test_a_request_uses_the_consumers_connection_settings_and_a_timeout(admin):
    aside = AdminThread(
        {"bootstrap_servers": "b:1", "sasl_plain_username": "u", "group_id": "g", "metric_reporters": [int]}
    )
    assert aside.ask(lambda _: 7, seconds=3) == 7
    assert admin.made == [
        {
            "bootstrap_servers": "b:1",
            "sasl_plain_username": "u",
            "bootstrap_timeout_ms": 3_000,
            "request_timeout_ms": 3_000,
        }
    ]


def test_each_failure_is_a_cluster_error_and_the_next_request_is_sent(admin):
    aside = AdminThread({})
    with pytest.raises(ClusterError, match="ZeroDivisionError"):
        aside.ask(lambda _: 1 // 0)
    assert aside.ask(lambda _: "well") == "well"


def test_a_request_ends_at_its_timeout_and_a_second_one_meanwhile_is_refused(admin):
    aside, answered = AdminThread({}), threading.Event()
    with pytest.raises(ClusterError, match=r"did not respond within 0\.05 s"):
        aside.ask(lambda _: answered.wait(10), seconds=0.05)
    with pytest.raises(ClusterError, match="previous request"):
        aside.ask(lambda _: 1)
    answered.set()
    for thread in threading.enumerate():
        if thread.name == "rebalance-agent-admin":
            thread.join(10)
    assert aside.ask(lambda _: 1) == 1


class Asked:
    """An `AdminThread` that sends its requests to ``admin`` at once."""

    def __init__(self, **admin):
        self.admin = SimpleNamespace(**admin)

    def ask(self, question, seconds=None):
        return question(self.admin)


class Ill:
    def ask(self, question, seconds=None):
        raise ClusterError("the cluster did not answer")


def offsets(**numbers):
    return {TopicPartition("t", int(name[1:])): SimpleNamespace(offset=offset) for name, offset in numbers.items()}


def listed(specs):
    ends, starts = {0: 10, 1: 10, 2: 10, 3: 3}, {0: 0, 1: 0, 2: 4, 3: 0}
    return {
        partition: SimpleNamespace(offset=(ends if spec == OffsetSpec.LATEST else starts)[partition.partition])
        for partition, spec in specs.items()
    }


@pytest.mark.parametrize(("from_start", "unread"), [(True, 6.0), (False, 0.0)])
def test_lag_is_the_number_of_unread_records_and_never_negative(from_start, unread):
    # Partition 2 has no committed offset and begins at 4; partition 3 was truncated below its committed offset.
    aside = Asked(
        list_group_offsets=lambda specs: {name: offsets(p0=10, p1=7, p3=5) for name in specs},
        list_partition_offsets=listed,
    )
    assert Lags(aside, "g", from_start=from_start)({"t": 4}) == {"t": [0.0, 3.0, unread, 0.0]}


def test_a_missing_response_of_the_cluster_is_logged_once(caplog):
    lags = Lags(Ill(), "the-group", from_start=True)
    assert [lags({"t": 4}), lags({"t": 4})] == [{}, {}]
    assert caplog.text.count("the-group: no lags") == 1


def test_existing_topics_have_counts_and_others_are_omitted():
    aside = Asked(
        describe_topics=lambda names: [
            {"name": "t", "error_code": 0, "partitions": [1, 2]},
            {"name": "gone", "error_code": 3, "partitions": []},
        ]
    )
    assert InternalTopics(aside).partitions_of(["t", "gone"]) == {"t": 2}


def creating(error_code, found):
    waited = []
    aside = Asked(
        create_topics=lambda topics, raise_errors: {
            "topics": [{"name": name, "error_code": error_code, "error_message": "why"} for name in topics]
        },
        wait_for_topics=waited.extend,
        describe_topics=lambda names: [{"name": name, "error_code": 0, "partitions": [None] * found} for name in names],
    )
    return InternalTopics(aside), waited


@pytest.mark.parametrize("error_code", [0, 36])
def test_a_topic_created_by_another_leader_is_accepted(error_code):
    topics, waited = creating(error_code, 4)
    topics.create_topics({"t": 4})
    assert waited == ["t"]


@pytest.mark.parametrize(
    ("error_code", "found", "problem"),
    [(36, 2, " needs 4 partitions, but has 2"), (29, 4, ": TopicAuthorization.*why")],
)
def test_a_topic_with_a_wrong_partition_count_is_named(error_code, found, problem):
    topics, _ = creating(error_code, found)
    with pytest.raises(ClusterError, match=f"internal topic t{problem}"):
        topics.create_topics({"t": 4})


def described(**fields):
    group = {"error": None, "protocol_type": "consumer", "protocol_data": "range", "members": [{"client_id": "old"}]}
    return Asked(describe_groups=lambda groups: {name: {**group, **fields} for name in groups})


@pytest.mark.parametrize(
    ("aside", "text"),
    [
        (described(), "group g: .*this consumer offers sticky, .*old offers range.*list the old and the new one first"),
        (described(protocol_type="connect"), "group g is of type 'connect' and accepts no consumers"),
        (described(error="not a classic group"), "group g rejects .* offers sticky, .*: not a classic group"),
        (Ill(), "group g rejects .* offers sticky, and cannot be described: the cluster did not answer"),
    ],
)
def test_a_refusal_names_the_strategies_that_each_member_offers(aside, text):

    assert re.match(text, why_refused(aside, "g", ["sticky"]))


class Source:
    """Topics in addition to the subscribed ones."""

    def __init__(self, **found):
        self.found = found
        self.created = {}
        self.asked = []

    def partitions_of(self, topics):
        self.asked.append(set(topics))
        return {topic: self.found[topic] for topic in topics if topic in self.found}

    def create_topics(self, topics):
        self.created.update(topics)


TASKS = strategy("task-sticky")
ONE_TASK = {"assignment.task.subtopologies": "a:t|changelog=c"}
MEMBERS = (MemberSubscription("m", ("t",)),)


def decide(source, create=False, known=None, config=None):
    one = Participant(
        [TASKS],
        ONE_TASK if config is None else config,
        group="g",
        internal_topics=source,
        create_internal_topics=create,
    )
    return one.decide(TASKS, {"t": TopicMetadata(4)} if known is None else known, MEMBERS)


def test_existing_internal_topics_are_requested_and_checked():
    source = Source(c=4)
    assert decide(source).assignment.members["m"]["t"] == (0, 1, 2, 3)
    assert source.asked == [{"c"}]
    with pytest.raises(InternalTopicError, match="internal topic c needs 4 partitions, but has 3"):
        decide(Source(c=3))


def test_missing_internal_topics_are_created_or_an_error():
    with pytest.raises(InternalTopicError, match="internal topic c needs 4 partitions, but does not exist"):
        decide(Source())
    source = Source()
    decide(source, create=True)
    assert source.created == {"c": 4}


def test_an_unknown_subscribed_topic_is_requested_with_internal_topics():
    source = Source(t=4, c=4)
    decide(source, known={})
    assert source.asked == [{"t", "c"}]


def test_without_internal_topics_no_request_is_sent():
    source = Source()
    decide(source, config={})
    assert source.asked == []
