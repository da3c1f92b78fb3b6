"""A group whose consumers are all killed while records arrive: metrics, page, watch and alert show it first."""

from __future__ import annotations

import re
import sys
import threading
import uuid
from contextlib import contextmanager

import pytest
import yaml
from alerts.values import load
from confluent_kafka import Producer

from rebalance_agent.cli.inputs.agent_api import AgentApi
from rebalance_agent.ui.sentences.group_table import group_rows, groups_text
from support.charts.promtool import PROMTOOL, Case, Run, rule_file, run
from support.members.member_lines import ProcessMember
from support.observer.observing import create_topic, eventually, observing

pytestmark = pytest.mark.integration

PARTITIONS = 6
MEMBERS = 3
SESSION_MS = 6_000
SETTINGS = {"lag_groups": ".*", "lag_interval_seconds": 0.5, "events_topic": ""}

CONSUMER = """
import sys, threading
from confluent_kafka import Consumer
bootstrap, group, topic, session_ms = sys.argv[1:]
threading.Thread(target=lambda: (sys.stdin.read(), __import__("os")._exit(0)), daemon=True).start()
consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "auto.offset.reset": "earliest",
    "auto.commit.interval.ms": 200, "session.timeout.ms": int(session_ms), "heartbeat.interval.ms": 500,
    "log_level": 0})
consumer.subscribe([topic])
while True:
    consumer.poll(0.1)
"""


@contextmanager
def producing(bootstrap, topic):
    """A hundred records per second, over all partitions."""
    stop = threading.Event()

    def run():
        producer, number = Producer({"bootstrap.servers": bootstrap, "log_level": 0}), 0
        while not stop.wait(0.1):
            for _ in range(10):
                producer.produce(topic, b"x", partition=number % PARTITIONS)
                number += 1
            producer.poll(0)
        producer.flush(30)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(60)


def objections(group, before, after, folder):
    """promtool's errors if `KafkaGroupEmpty` must fire six minutes later, from two scrapes with a growing lag."""
    empty, lag = (
        f'kafka_rebalance_group_{name}{{consumergroup="{group}"}}' for name in ("empty_seconds", "lag_offsets")
    )
    growth = after[lag] - before[lag]
    series = {empty: f"0 {after[empty]}+60x6", lag: f"{before[lag]}+{growth}x7"}
    words = dict.fromkeys(("summary", "description", "dashboard_url"), "-")
    rules = yaml.safe_load(rule_file(load(), "KafkaGroupEmpty"))
    rules["groups"][0]["rules"][0]["annotations"] |= words
    firing = {"labels": {"consumergroup": group}, "severity": "critical", **words}
    case = Case("KafkaGroupEmpty", "as scraped", "1m", "1m", series, {"1m": [], "7m": [firing]})
    return run([Run("scraped", yaml.safe_dump(rules), [case])], folder)["scraped"]


def _known(seconds):
    """Return the age of the oldest record; -1 while it is unknown."""
    return -1 if seconds is None else seconds


def test_a_group_whose_consumers_are_all_killed_is_shown_first(kafka, tmp_path):
    unique = uuid.uuid4().hex[:8]
    bootstrap, topic, group = kafka.bootstrap_servers, f"topic-{unique}", f"doomed-{unique}"
    create_topic(bootstrap, topic, PARTITIONS)
    command = [sys.executable, "-c", CONSUMER, bootstrap, group, topic, str(SESSION_MS)]
    with producing(bootstrap, topic), observing(bootstrap, groups_allow=group, **SETTINGS) as watched:
        consumers = [ProcessMember(command) for _ in range(MEMBERS)]

        def metric(name, **labels):
            return watched.metric(f"kafka_rebalance_{name}", consumergroup=group, **labels)

        try:
            eventually(lambda: metric("members") == MEMBERS and metric("partitions_unassigned") == 0)
            eventually(lambda: metric("group_lag_offsets") is not None, waiting_for="lag is measured")
            assert metric("group_empty_seconds") == 0
            assert metric("unowned_partition_seconds_total", reason="empty") == 0
            # A current consumer lags only by the records between two commits, far less than later.
            eventually(lambda: metric("group_lag_offsets") < 200 and 0 <= _known(metric("group_lag_seconds")) < 5)
            eventually(lambda: metric("stuck_partition_seconds") < 5)
            moving = metric("group_lag_offsets")
        finally:
            for consumer in consumers:
                consumer.kill()
        eventually(lambda: metric("members") == 0 and metric("group_empty_seconds"), waiting_for="it is Empty")
        stalled, possible = (metric(f"{name}_seconds_total") for name in ("stalled_partition", "partition"))
        assert metric("partitions_unassigned") == metric("partitions") == PARTITIONS
        eventually(lambda: metric("group_lag_offsets") > moving + 300, waiting_for="the lag grows")
        before = watched.metrics()
        eventually(lambda: metric("group_lag_seconds") > SESSION_MS / 1000, waiting_for="the oldest record waits")
        assert metric("topic_lag_offsets", topic=topic) <= metric("group_lag_offsets")
        eventually(lambda: metric("stuck_partition_seconds") is None, waiting_for="no partition has an owner")
        eventually(lambda: metric("unowned_partition_seconds_total", reason="empty") > PARTITIONS)
        empty = metric("unowned_partition_seconds_total", reason="empty") / PARTITIONS
        assert empty <= metric("group_empty_seconds") + 1
        assert metric("unowned_partition_seconds_total", reason="unassigned") == 0
        # Not part of the SLO: its two counters are unchanged (except for the last rebalance, which may have settled).
        assert metric("partition_seconds_total") == possible
        assert metric("stalled_partition_seconds_total") >= stalled

        sentence = r"Empty since \d\d:\d\d:\d\d UTC; its last 3 members [a-z ]+; 6 partitions have no owner; lag is "
        sentence += r"[\d,]+ offsets and grows by \d+/s"
        for path in ("/", f"/group?name={group}"):
            eventually(lambda path=path: re.search(sentence, watched.get(path)[1]), waiting_for=path)
        page = watched.get("/")[1]
        assert page.index(group) == min(page.index(name) for name in re.findall(r'href="group\?name=([^"]+)"', page))
        answer = AgentApi(f"http://127.0.0.1:{watched.role.port}").groups()
        top = group_rows(answer)[0]
        assert top.group == group
        assert re.match(f"{group}: {sentence}", groups_text([top]))

        after = watched.metrics()
    if PROMTOOL:
        assert objections(group, before, after, tmp_path) == ""


def test_a_group_that_may_be_empty_is_not_reported(kafka):
    unique = uuid.uuid4().hex[:8]
    bootstrap, topic, group = kafka.bootstrap_servers, f"topic-{unique}", f"nightly-{unique}"
    create_topic(bootstrap, topic, PARTITIONS)
    command = [sys.executable, "-c", CONSUMER, bootstrap, group, topic, str(SESSION_MS)]
    with observing(bootstrap, empty_groups_allow="nightly-.*", events_topic="") as watched:
        consumer = ProcessMember(command)
        try:
            eventually(lambda: watched.metric("kafka_rebalance_members", consumergroup=group) == 1)
        finally:
            consumer.kill()
        eventually(lambda: watched.metric("kafka_rebalance_members", consumergroup=group) == 0)
        assert watched.metric("kafka_rebalance_group_empty_seconds", consumergroup=group) is None
        assert watched.metric("kafka_rebalance_partitions_unassigned", consumergroup=group) == 0
        assert "Empty since" not in watched.get(f"/group?name={group}")[1]
