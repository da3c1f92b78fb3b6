"""Observers that share a cluster's groups, fail, and resume from each other's snapshots."""

from __future__ import annotations

import threading
import uuid

import pytest
from confluent_kafka import Producer
from structlog.testing import capture_logs

from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.errors import AccessDeniedError
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import Callback, MemberEvent
from support.observer.observing import create_topic, eventually, members, observing
from support.observer.replicas import generations, kill, published, replica, unrest

pytestmark = pytest.mark.integration

# Rare polls, so that they do not slow down the several processes and many rebalances.
PATIENTLY = {"seconds": 120, "between": lambda: threading.Event().wait(0.5)}


@pytest.fixture
def names():
    """A topic, four groups, and the common settings of one test's replicas."""
    unique = uuid.uuid4().hex[:8]
    shared = {
        "events_topic": f"events-{unique}",
        "state_topic": f"state-{unique}",
        "replicas_group": f"rebalance-agent-{unique}",
        "groups_allow": f"group-{unique}-.*",
        "settle_seconds": 0.5,
    }
    return f"topic-{unique}", [f"group-{unique}-{number}" for number in range(4)], shared


def _shown(watched):
    name = 'kafka_rebalance_members{consumergroup="'
    return {each.removeprefix(name).removesuffix('"}') for each in watched.metrics() if each.startswith(name)}


def _owned(watched):
    return watched.metric("rebalance_agent_owned_partitions") or 0


def _reported_exactly(bootstrap, topic, groups):
    compared = []

    def agree():
        compared[:] = [generations(bootstrap, groups), published(bootstrap, topic, groups)[0]]
        return compared[0] == compared[1]

    eventually(agree, waiting_for=compared, **PATIENTLY)


def _rebalanced(bootstrap, groups):
    """Wait until each group has rebalanced since the call."""
    before = generations(bootstrap, groups)
    eventually(
        lambda: all(len(each) > len(before[group]) for group, each in generations(bootstrap, groups).items()),
        **PATIENTLY,
    )


def test_one_of_two_replicas_is_killed_and_every_generation_is_reported_once(kafka, names):
    bootstrap, (topic, groups, shared) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 2)
    with replica(bootstrap, **shared) as one, replica(bootstrap, **shared) as other:
        eventually(lambda: _owned(one) == _owned(other) == 2 and one.ready() and other.ready(), **PATIENTLY)
        with unrest(bootstrap, topic, groups):
            eventually(
                lambda: _shown(one) | _shown(other) == set(groups) and not _shown(one) & _shown(other), **PATIENTLY
            )
            _rebalanced(bootstrap, groups)
            kill(one)
            eventually(lambda: _owned(other) == 4 and other.ready() and _shown(other) == set(groups), **PATIENTLY)
            _rebalanced(bootstrap, groups)
        _reported_exactly(bootstrap, shared["events_topic"], groups)
        assert sum(other.metric("rebalance_agent_snapshot_problems_total", problem=each) for each in PROBLEMS) == 0


def _report(bootstrap, topic, group):
    """A sidecar's post for one of its members."""
    event = MemberEvent("report", group, 2, Callback.REVOKED, "c", "m", 3, 1, {}, "process", 1)
    producer = Producer({"bootstrap.servers": bootstrap})
    producer.produce(topic, key=group, value=json_line(event))
    assert producer.flush(30) == 0


PROBLEMS = ("foreign", "malformed", "out_of_range", "too_large", "unreadable", "write")


def test_rebalances_without_a_running_observer_are_reported_by_the_next_one(kafka, names):
    bootstrap, (topic, groups, shared) = kafka.bootstrap_servers, names
    alone, group = {**shared, "replicas_group": ""}, groups[0]
    create_topic(bootstrap, topic, 2)
    with members(bootstrap, group, topic):
        eventually(lambda: generations(bootstrap, [group])[group])
        with observing(bootstrap, **alone) as watched:
            eventually(lambda: watched.metric("rebalance_agent_snapshot_written_bytes_total") > 0)
            assert watched.metric("rebalance_agent_replayed_records_total") == 0
        with members(bootstrap, group, topic):
            eventually(lambda: len(generations(bootstrap, [group])[group]) > 1)
        eventually(lambda: len(generations(bootstrap, [group])[group]) > 2)
        _report(bootstrap, shared["events_topic"], group)
        with observing(bootstrap, **alone) as watched:
            compared = []

            def agree():
                _, *later = generations(bootstrap, [group])[group]
                compared[:] = [later, published(bootstrap, shared["events_topic"], [group])[0][group]]
                return compared[0] == compared[1]

            eventually(agree, waiting_for=compared, **PATIENTLY)
            assert watched.metric("rebalance_agent_replayed_records_total") >= 2
            eventually(lambda: watched.metric("rebalance_agent_events_received_total", kind="member") == 1)
            # Reported but not counted: the counters of this process start now.
            counted = [
                value
                for name, value in watched.metrics().items()
                if name.startswith(f'kafka_rebalance_completed_total{{consumergroup="{group}"')
            ]
            assert counted
            assert sum(counted) == 0


def test_a_stopped_observer_leaves_a_snapshot_of_everything_read(kafka, names):
    bootstrap, (topic, groups, shared) = kafka.bootstrap_servers, names
    alone, group = {**shared, "replicas_group": "", "settle_seconds": 0}, groups[0]
    create_topic(bootstrap, topic, 2)
    with observing(bootstrap, **alone) as watched, members(bootstrap, group, topic):
        # Before the next snapshot was due.
        eventually(lambda: published(bootstrap, shared["events_topic"], [group])[0][group])
    with observing(bootstrap, **alone) as watched, members(bootstrap, group, topic):
        eventually(lambda: len(published(bootstrap, shared["events_topic"], [group])[0][group]) == 2)
        # The member may have left while the first observer stopped.
        assert watched.metric("rebalance_agent_replayed_records_total") <= 1


def test_a_topic_of_snapshots_created_later_is_used(kafka, names, monkeypatch):
    bootstrap, (topic, groups, shared) = kafka.bootstrap_servers, names
    alone = {**shared, "replicas_group": "", "topics_interval_seconds": 0.2}
    create_topic(bootstrap, topic, 2)
    refused = AccessDeniedError("not allowed")

    def refuse(_cluster, name, *_arguments):
        if name == shared["state_topic"]:
            raise refused
        return False

    monkeypatch.setattr(Cluster, "create_topic", refuse)
    with members(bootstrap, groups[0], topic), observing(bootstrap, **alone) as watched:
        eventually(lambda: _shown(watched) == {groups[0]})
        create_topic(bootstrap, shared["state_topic"], 1)
        eventually(lambda: watched.metric("rebalance_agent_snapshot_written_bytes_total"))
    with members(bootstrap, groups[0], topic), capture_logs() as logs, observing(bootstrap, **alone):
        (loaded,) = [log for log in logs if log["event"] == "snapshots_loaded"]
        assert (loaded["partitions"], loaded["of"]) == (4, 4)


def test_replicas_also_share_groups_under_the_consumer_protocol(kafka, names):
    bootstrap, (_, _, shared) = kafka.bootstrap_servers, names
    kip_848 = {"group.protocol": "consumer"}
    with observing(bootstrap, wait=False, kafka=kip_848, **shared) as one:
        with observing(bootstrap, wait=False, kafka=kip_848, **shared) as other:
            eventually(lambda: _owned(one) == _owned(other) == 2 and one.ready() and other.ready(), **PATIENTLY)
        eventually(lambda: _owned(one) == 4 and one.ready(), **PATIENTLY)
