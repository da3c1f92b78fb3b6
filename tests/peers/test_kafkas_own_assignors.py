"""``range`` and ``roundrobin`` give the same result as Kafka's own Java classes, for any group."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.model.partitions import topic_partitions
from rebalance_agent.model.subscription import TopicMetadata
from support.assignors.rules import group, groups, member
from support.examples import examples
from support.kafka.kafkas_java import start_java

jpype = pytest.importorskip("jpype", reason="runs Java in this process")
pytestmark = pytest.mark.integration


@pytest.fixture(scope="session")
def java():
    """Kafka's classes by simple name, loaded by a JVM that lives as long as the test process."""
    start_java()
    names = {
        "Cluster": "common.Cluster",
        "Node": "common.Node",
        "PartitionInfo": "common.PartitionInfo",
        "Subscription": "clients.consumer.ConsumerPartitionAssignor$Subscription",
        "GroupSubscription": "clients.consumer.ConsumerPartitionAssignor$GroupSubscription",
        "range": "clients.consumer.RangeAssignor",
        "roundrobin": "clients.consumer.RoundRobinAssignor",
    }
    return {name: jpype.JClass(f"org.apache.kafka.{path}") for name, path in names.items()}


def kafkas_own(java, name, subject):
    """The Java assignor's result for ``subject``, in our form."""
    array_list, hash_map, optional = (
        jpype.JClass(f"java.util.{name}") for name in ("ArrayList", "HashMap", "Optional")
    )
    racks = sorted({rack for known in subject.topics.values() for row in known.racks or () for rack in row})
    nodes = {rack: java["Node"](place, "host", 9092, rack) for place, rack in enumerate(racks)}
    rackless = java["Node"](99, "host", 9092)
    partitions = array_list()
    for topic, known in subject.topics.items():
        for number in range(known.partitions):
            row = [nodes[rack] for rack in known.racks[number]] if known.racks else [rackless]
            replicas = jpype.JArray(java["Node"])(row)
            partitions.add(java["PartitionInfo"](topic, number, None, replicas, replicas))
    empty = jpype.JClass("java.util.Collections").emptySet()
    cluster = java["Cluster"]("cluster", array_list([*nodes.values(), rackless]), partitions, empty, empty)
    subscriptions = hash_map()
    for each in subject.members:
        subscription = java["Subscription"](
            array_list(each.topics),
            None,
            array_list(),
            -1,
            optional.of(each.rack) if each.rack else optional.empty(),
        )
        if each.instance_id is not None:
            subscription.setGroupInstanceId(optional.of(each.instance_id))
        subscriptions.put(each.member_id, subscription)
    assignments = java[name]().assign(cluster, java["GroupSubscription"](subscriptions)).groupAssignment()
    return {
        str(entry.getKey()): topic_partitions(
            (str(each.topic()), int(each.partition())) for each in entry.getValue().partitions()
        )
        for entry in assignments.entrySet()
    }


@st.composite
def racked_groups(draw):
    """Groups of equal and mixed subscriptions, in which most members and replicas have racks."""
    racks = st.sampled_from(["r1", "r2", "r3"])
    topics = {}
    for name in draw(st.lists(st.sampled_from("abcd"), unique=True, min_size=1, max_size=4)):
        count = draw(st.sampled_from([1, 4, 6, 7, 12]))
        rows = st.lists(racks, unique=True, min_size=draw(st.integers(0, 1)), max_size=2).map(tuple)
        topics[name] = TopicMetadata(count, draw(st.lists(rows, min_size=count, max_size=count).map(tuple)))
    members = []
    for place in range(draw(st.integers(1, 6))):
        some = draw(st.just(list(topics)) | st.lists(st.sampled_from(sorted(topics)), unique=True))
        members.append(member(f"m{place}", " ".join(some), rack=draw(st.none() | racks)))
    return group(topics, *members)


@pytest.mark.parametrize("name", ["range", "roundrobin"])
def test_assignments_equal_those_of_kafkas_own_assignors(java, name):
    @given(groups().filter(lambda subject: subject.members))  # Java refuses a group without members
    @settings(max_examples=examples())
    def agree(subject):
        assert STRATEGIES[name].assign(subject).members == kafkas_own(java, name, subject)

    agree()


def test_range_matches_racks_like_kafkas_own(java):
    matched = 0

    @given(racked_groups())
    @settings(max_examples=600)
    def agree(subject):
        nonlocal matched
        ours = STRATEGIES["range"].assign(subject).members
        assert ours == kafkas_own(java, "range", subject)
        rackless = group(subject.topics, *(member(each.member_id, " ".join(each.topics)) for each in subject.members))
        matched += ours != STRATEGIES["range"].assign(rackless).members

    agree()
    assert matched > 50, "racks must matter in the random groups"


def test_members_and_topics_are_sorted_like_javas_strings(java):
    # U+FF5E sorts after U+1F600 in UTF-16 code units, before it by code point
    subject = group(
        {"\uff5e": 1, "\U0001f600": 2}, member("\uff5e", "\uff5e \U0001f600"), member("\U0001f600", "\uff5e \U0001f600")
    )
    for name in ("range", "roundrobin"):
        assert STRATEGIES[name].assign(subject).members == kafkas_own(java, name, subject)
