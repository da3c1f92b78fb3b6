"""The observer without a topic, a right or a broker, and at shutdown."""

from __future__ import annotations

import json
import signal
import subprocess
import sys

import psutil
import pytest
from confluent_kafka import TopicPartition
from confluent_kafka.admin import AclOperation

from rebalance_agent.runtime.settings.roles import ObserverSettings
from rebalance_agent.runtime.watch.in_process import InProcessWatch
from rebalance_agent.testing import EmbeddedKafka
from support.observer.observing import (
    KIP_848,
    beside,
    commit,
    create_topic,
    events,
    eventually,
    members,
    observing,
    slow_to_give_up,
)
from support.rights.granted import deny

pytestmark = pytest.mark.integration

PATIENCE_S = 60


def test_a_topic_that_appears_with_the_first_group_is_read_from_its_first_record():
    with EmbeddedKafka(offsets_topic=False) as kafka:
        bootstrap = kafka.bootstrap_servers
        create_topic(bootstrap, "t", 2)
        with observing(bootstrap, settle_seconds=0.2) as watched, members(bootstrap, "first", "t", 1):
            eventually(lambda: watched.metric("kafka_rebalance_generation", consumergroup="first") == 1)
            eventually(
                lambda: [each["generation"] for each in events(bootstrap, "rebalance-events", group="first")] == [1]
            )


@pytest.fixture(scope="module")
def mortal():
    """A broker to kill; each test starts it again."""
    with EmbeddedKafka() as kafka:
        yield kafka


def test_a_broker_outage_is_reported_and_needs_no_restart(mortal):
    bootstrap = mortal.bootstrap_servers
    create_topic(bootstrap, "t", 2)
    with observing(bootstrap) as watched:
        with members(bootstrap, "before", "t", 1):
            eventually(lambda: watched.metric("kafka_rebalance_generation", consumergroup="before") == 1)
        mortal.kill_broker(1)
        eventually(lambda: not watched.ready())
        status, text = watched.get("/readyz")
        assert status == 503
        eventually(lambda: "refused" in watched.get("/readyz")[1] or "Timed out" in watched.get("/readyz")[1])
        assert watched.get("/healthz")[0] == 200
        assert watched.metric("kafka_rebalance_generation", consumergroup="before") is not None, text
        mortal.start_broker(1)
        eventually(watched.ready)
        assert watched.metric("rebalance_agent_reconnects_total") >= 1
        with members(bootstrap, "after", "t", 1):
            eventually(lambda: watched.metric("kafka_rebalance_generation", consumergroup="after") == 1)


def test_a_sidecar_reports_the_start_and_the_end_of_an_outage(mortal):
    with beside(mortal.bootstrap_servers) as sidecar:
        mortal.kill_broker(1)
        eventually(lambda: sidecar.get("/readyz")[0] == 503)
        assert "reading metadata" in sidecar.parts()["cluster"]
        assert sidecar.metric("rebalance_agent_ready", part="cluster") == 0
        mortal.start_broker(1)
        eventually(sidecar.ready)
        assert sidecar.metric("rebalance_agent_reconnects_total") == 1


@pytest.fixture(scope="module")
def unread():
    """A broker with an unreadable offsets topic, and topic t of two partitions."""
    properties = {
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:nobody-else",
        "allow.everyone.if.no.acl.found": "true",
        "group.consumer.heartbeat.interval.ms": "500",
        "group.consumer.min.heartbeat.interval.ms": "100",
    }
    with EmbeddedKafka(properties=properties) as kafka:
        create_topic(kafka.bootstrap_servers, "t", 2)
        deny(kafka, "User:ANONYMOUS", "__consumer_offsets", AclOperation.READ)
        yield kafka


def test_without_the_right_to_read_the_offsets_topic_groups_are_described_and_the_mode_is_shown(unread, capfd):
    bootstrap = unread.bootstrap_servers
    commit(bootstrap, "g", [TopicPartition("t", 0, 0)])
    settings = {"describe_interval_seconds": 0.2, "lag_groups": "g", "lag_interval_seconds": 0.5}
    with members(bootstrap, "g", "t", 1), observing(bootstrap, **settings) as watched:
        eventually(lambda: watched.metric("kafka_rebalance_members", consumergroup="g") == 1)
        skew = "kafka_rebalance_assignment_skew_ratio"
        eventually(lambda: watched.metric(skew, consumergroup="g", weight="lag") == 1)
        (info,) = [name for name in watched.metrics() if name.startswith("kafka_rebalance_group_info")]
        assert 'source="admin"' in info
        assert watched.metric("kafka_rebalance_generation", consumergroup="g") is None
        eventually(lambda: json.loads(watched.get("/readyz")[1])["degraded"])
        assert watched.ready()
        direct = InProcessWatch(ObserverSettings(), {"bootstrap.servers": bootstrap})
        with direct:
            eventually(lambda: "admin-only: " in direct.missing())
    assert capfd.readouterr().out.count("mode=admin-only") == 1


def test_a_described_group_is_shown_during_its_rebalance_which_is_one_change(unread):
    bootstrap, often = unread.bootstrap_servers, {"describe_interval_seconds": 0.2, "list_all_interval_seconds": 0.5}
    with observing(bootstrap, groups_allow="slow", **often) as watched:
        metric = lambda name, **labels: watched.metric(name, consumergroup="slow", **labels)  # noqa: E731
        is_in = lambda state: metric("kafka_rebalance_group_state", state=state) == 1  # noqa: E731
        lists = lambda: watched.metric("rebalance_agent_poll_duration_seconds_count", poll="list_all")  # noqa: E731
        with slow_to_give_up(bootstrap, "slow", "t", **KIP_848) as released:
            owner = {"client_id": "rdkafka", "host": "127.0.0.1"}
            eventually(lambda: metric("kafka_rebalance_owner_partitions", **owner) == 2 and is_in("Stable"))
            joined = lambda: metric("kafka_rebalance_completed_total", trigger="member_joined")  # noqa: E731
            assert not joined()
            with members(bootstrap, "slow", "t", 1, **KIP_848):
                eventually(lambda: is_in("Reconciling"))
                eventually(lambda: metric("kafka_rebalance_members") == 2)
                until = lists() + 3
                while lists() < until:
                    assert is_in("Reconciling")
                    assert metric("kafka_rebalance_in_progress_seconds") > 0
                    assert metric("kafka_rebalance_members") == 2
                (pending,) = watched.detail("slow")["summary"]["running"]["pending"]["named"]
                assert (pending["client_id"], "partitions" in pending) == ("rdkafka", False)
                released.set()
                eventually(lambda: is_in("Stable"))
                eventually(lambda: joined() == 1)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_the_command_with_zero_without_remains(kafka, number):
    command = [sys.executable, "-m", "rebalance_agent.cli.main", "observe", "--listen", "127.0.0.1:0"]
    with subprocess.Popen(
        [*command, "--bootstrap-servers", kafka.bootstrap_servers], stderr=subprocess.PIPE, text=True
    ) as process:
        lines = iter(process.stderr.readline, "")
        assert any('"connected"' in line for line in lines)
        process.send_signal(number)
        left = psutil.Process(process.pid).children(recursive=True)
        _, rest = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0
    assert "Traceback" not in rest
    assert left == []
