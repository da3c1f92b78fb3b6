"""Internal topics with aiokafka: requested after the join, and checked before the assignment."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

import pytest
from aiokafka.cluster import ClusterMetadata
from aiokafka.structs import PartitionMetadata

from rebalance_agent.assignors import strategy
from rebalance_agent.clients.aiokafka import internal_topics as module
from rebalance_agent.clients.aiokafka.assignors import Assignor, StrategyAssignor
from rebalance_agent.clients.aiokafka.internal_topics import TopicsBeforeAssign
from rebalance_agent.clients.aiokafka.joining import JOIN_GROUP, Joining
from rebalance_agent.clients.participant import Participant
from rebalance_agent.errors import ClusterError, InternalTopicError

SETTINGS = {
    "task-sticky": {"assignment.task.subtopologies": "count:t|changelog=t-state"},
    "copartitioned-sticky": {"assignment.changelog.topics": "t=t-state"},
}


def cluster(**topics):
    metadata = ClusterMetadata()
    metadata._partitions = {
        topic.replace("_", "-"): {number: PartitionMetadata(topic, number, 0, [0], [], 0) for number in range(count)}
        for topic, count in topics.items()
    }
    return metadata


class Client:
    """Responds to a JoinGroup as for the only member; ``topics`` is the cluster's response, or the exception that it
    raises."""

    def __init__(self, name, subscription, topics):
        self.answer = SimpleNamespace(
            API_KEY=JOIN_GROUP, error_code=0, group_protocol=name, members=[("m", None, subscription)]
        )
        self.topics = topics
        self.looks = 0

    async def send(self, _node_id, _request):
        return self.answer

    async def fetch_all_metadata(self):
        self.looks += 1
        if self.topics is None:
            await asyncio.Event().wait()
        if isinstance(self.topics, Exception):
            raise self.topics
        return self.topics


def led(name, topics, config=None):
    """Return the client, and the partitions of ``t`` (three) that its only member is assigned."""
    chosen = strategy(name)
    ahead = TopicsBeforeAssign([chosen])
    config = SETTINGS.get(name, {}) if config is None else config
    inner = StrategyAssignor(chosen, Participant([chosen], config, group="g", internal_topics=ahead), lambda: None)
    client = Client(name, inner.metadata(["t"]), topics)
    joining = Joining(client, ahead)
    asyncio.run(client.send(1, SimpleNamespace(API_KEY=JOIN_GROUP)))
    Assignor(inner, joining, lambda: 1, last=True).assign(cluster(t=3), {"m": None})
    return client, inner.decision.assignment.members["m"]


@pytest.mark.parametrize("name", SETTINGS)
def test_with_existing_internal_topics_the_group_is_assigned(name):
    assert led(name, cluster(t=3, t_state=3))[1] == {"t": (0, 1, 2)}


@pytest.mark.parametrize("name", SETTINGS)
@pytest.mark.parametrize(
    ("topics", "problem"),
    [
        (cluster(t=3), "internal topic t-state needs 3 partitions, but does not exist"),
        (cluster(t=3, t_state=2), "internal topic t-state needs 3 partitions, but has 2"),
    ],
)
def test_a_missing_or_wrong_internal_topic_is_named_before_the_assignment(name, topics, problem):
    with pytest.raises(InternalTopicError, match=problem):
        led(name, topics)


@pytest.mark.parametrize(
    ("topics", "problem"), [(OSError("gone"), "OSError: gone"), (None, "the cluster did not respond within")]
)
def test_a_missing_response_of_the_cluster_is_an_error_only_if_topics_are_needed(monkeypatch, topics, problem):
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.01)
    with pytest.raises(ClusterError, match=f"internal topics cannot be checked: {problem}"):
        led("task-sticky", topics)
    assert led("task-sticky", topics, config={})[1] == {"t": (0, 1, 2)}


def test_an_old_response_is_not_used_again():
    ahead = TopicsBeforeAssign([strategy("task-sticky")])
    client = Client("task-sticky", b"", cluster(t=3))
    asyncio.run(ahead.fetch(client, "task-sticky"))
    assert ahead.partitions_of(["t", "u"]) == {"t": 3}
    client.topics = OSError("gone")
    asyncio.run(ahead.fetch(client, "task-sticky"))
    with pytest.raises(ClusterError):
        ahead.partitions_of(["t"])


def test_strategies_without_internal_topics_send_no_request():
    assert led("weighted-sticky", OSError("gone"))[0].looks == 0


def test_internal_topics_are_not_created():
    with pytest.raises(ClusterError, match="t-state: create them"):
        TopicsBeforeAssign([]).create_topics({"t-state": 3})
