"""Unmodified consumers, named after their hosts, subscribe to many topics by pattern: the observer sees clusters."""

from __future__ import annotations

import json
import threading
import uuid
from contextlib import ExitStack, contextmanager

import pytest
from confluent_kafka import Consumer
from confluent_kafka.admin import AdminClient, NewTopic

from rebalance_agent.testing.simulation import SimulatedMember
from support.members.coordinating import Consumer as StrategyConsumer
from support.observer.observing import eventually, observing

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning"),
]

HOSTS, EACH, TOPICS, PARTITIONS = 4, 3, 20, 3


@contextmanager
def polling(bootstrap, group, pattern, client_id, assignor):
    """A consumer that polls until the end."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": client_id,
            "partition.assignment.strategy": assignor,
            "log_level": 0,
        }
    )
    consumer.subscribe([pattern])
    done = threading.Event()

    def poll():
        while not done.is_set():
            consumer.poll(0.1)

    thread = threading.Thread(target=poll)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
        consumer.close()


@contextmanager
def application(bootstrap, group, pattern, assignor="roundrobin"):
    """All consumers of the group; those of a host have the host's name as client id."""
    with ExitStack() as running:
        for host in range(1, HOSTS + 1):
            for _ in range(EACH):
                running.enter_context(polling(bootstrap, group, pattern, f"application{host:02}", assignor))
        yield


def create_topics(bootstrap, unique):
    admin = AdminClient({"bootstrap.servers": bootstrap})
    names = tuple(f"{unique}-{number:02}" for number in range(TOPICS))
    for each in admin.create_topics([NewTopic(name, PARTITIONS, 1) for name in names]).values():
        each.result(30)
    return names


def test_round_robin_by_pattern_puts_every_topic_on_one_host_which_is_shown(kafka):
    bootstrap, unique = kafka.bootstrap_servers, f"pattern-{uuid.uuid4().hex[:8]}"
    create_topics(bootstrap, unique)
    groups = [f"{unique}-clustered", f"{unique}-address"]
    rules = rf"{unique}-clustered=(application\d+)"
    with observing(bootstrap, host_names=rules, events_topic="") as watched, ExitStack() as running:
        for group in groups:
            running.enter_context(application(bootstrap, group, f"^{unique}-.*"))

        def metric(name, group=groups[0], **labels):
            return watched.metric(f"kafka_rebalance_{name}", consumergroup=group, **labels)

        for group in groups:
            eventually(lambda group=group: metric("members", group) == HOSTS * EACH, waiting_for=group)
        eventually(lambda: metric("topics_on_one_host_ratio") == 1, waiting_for=groups)
        eventually(lambda: metric("host_spread_ratio") == pytest.approx(1 / PARTITIONS))
        # The group's skew by members is perfect.
        eventually(lambda: metric("assignment_skew_ratio", weight="partitions") == 1)
        assert "kafka_rebalance_topic_spread_ratio{" not in "".join(
            line for line in watched.get("/metrics")[1].splitlines() if groups[0] in line
        )
        detail = json.loads(watched.get(f"/api/v1/groups/{groups[0]}")[1])
        found = detail["summary"]["host_spread"]
        assert (found["topics"], found["on_one_host"], found["hosts"]) == (TOPICS, TOPICS, HOSTS)
        page = watched.get(f"/group?name={groups[0]}")[1]
        assert f"{TOPICS} of {TOPICS} topics have all their partitions on one of {HOSTS} hosts" in page
        # All members have the same address, so the spread over hosts is unknown.
        assert metric("members", groups[1]) == HOSTS * EACH
        assert metric("host_spread_ratio", groups[1]) is metric("topics_on_one_host_ratio", groups[1]) is None


def test_shuffled_roundrobin_distributes_the_topics_over_the_hosts(kafka):
    bootstrap, unique = kafka.bootstrap_servers, f"shuffled-{uuid.uuid4().hex[:8]}"
    topics = create_topics(bootstrap, unique)
    rules = rf"{unique}=(application\d+)"
    with observing(bootstrap, host_names=rules, events_topic="") as watched, ExitStack() as running:
        for host in range(1, HOSTS + 1):
            for _ in range(EACH):
                member = SimulatedMember(f"application{host:02}", topics, ("shuffled-roundrobin",))
                running.callback(StrategyConsumer(bootstrap, unique, member).close)

        def metric(name, **labels):
            return watched.metric(f"kafka_rebalance_{name}", consumergroup=unique, **labels)

        eventually(lambda: metric("members") == HOSTS * EACH)
        eventually(lambda: (metric("partitions_unassigned"), metric("topics_on_one_host_ratio")) == (0, 0))
        eventually(lambda: (metric("host_spread_ratio") or 0) >= 2 / PARTITIONS)
        eventually(lambda: metric("assignment_skew_ratio", weight="partitions") == 1)
