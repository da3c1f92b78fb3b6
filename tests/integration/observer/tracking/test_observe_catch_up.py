"""A moved partition catches up with its backlog: metrics, page, API and `explain` show it during and after the
catch-up."""

from __future__ import annotations

import queue
import threading
import uuid

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from rebalance_agent.cli import main
from rebalance_agent.cli.inputs.agent_api import AgentApi
from rebalance_agent.clock import SystemClock
from support.observer.observing import commit, create_topic, eventually, observing

pytestmark = pytest.mark.integration

RECORDS = 300
CLOCK = SystemClock()


class Reader:
    """A member that commits only on request. ``owned``: its partitions, from the last assigned callback.

    Only its thread calls the consumer: ``assignment()`` beside ``poll()`` would wait for ever.
    """

    def __init__(self, bootstrap, group, topic):
        properties = {"heartbeat.interval.ms": 200, "enable.auto.commit": False, "log_level": 0}
        self._consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, **properties})
        self._topic, self._stop, self._commits = topic, threading.Event(), queue.SimpleQueue()
        self.owned = []
        self._thread = threading.Thread(target=self._poll, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_error):
        self._stop.set()
        self._thread.join(60)

    def commit(self, partition, offset):
        self._commits.put(TopicPartition(self._topic, partition, offset))

    def _assigned(self, _consumer, partitions):
        self.owned = [each.partition for each in partitions]

    def _poll(self):
        self._consumer.subscribe([self._topic], on_assign=self._assigned)
        while not self._stop.is_set():
            self._consumer.poll(0.05)
            while not self._commits.empty():
                self._consumer.commit(offsets=[self._commits.get()], asynchronous=False)
        self._consumer.close()


def test_a_partition_catches_up_from_its_move_until_its_new_owner_has_committed_the_backlog(kafka, capsys):
    unique = uuid.uuid4().hex[:8]
    bootstrap, topic, group = kafka.bootstrap_servers, f"topic-{unique}", f"moving-{unique}"
    create_topic(bootstrap, topic, 2)
    commit(bootstrap, group, [TopicPartition(topic, number, 0) for number in range(2)])
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for number in range(2 * RECORDS):
        producer.produce(topic, b"x", partition=number % 2)
    assert producer.flush(60) == 0

    settings = {"groups_allow": group, "lag_groups": group, "lag_interval_seconds": 0.5, "events_topic": ""}
    with Reader(bootstrap, group, topic) as first:
        eventually(lambda: len(first.owned) == 2)
        with observing(bootstrap, **settings) as watched:

            def metric(name):
                return watched.metric(f"kafka_rebalance_{name}", consumergroup=group)

            def measured_again():
                """Wait for two complete measurements after the call."""
                polls = lambda: watched.metric("rebalance_agent_poll_duration_seconds_count", poll="loads")  # noqa: E731
                before = polls()
                eventually(lambda: polls() >= before + 3)

            def sentence(text):
                """Whether the page and `explain` show it."""
                eventually(lambda: text in watched.get(f"/group?name={group}")[1], waiting_for=text)
                assert main.main(["explain", group, "--url", url]) == 0
                assert text in " ".join(capsys.readouterr().out.split())

            url = f"http://127.0.0.1:{watched.role.port}"
            eventually(lambda: metric("group_lag_offsets") == 2 * RECORDS)
            measured_again()
            assert metric("catching_up_partitions") == metric("catch_up_partition_seconds_total") == 0
            assert metric("catch_up_seconds") is None

            before_move = CLOCK.monotonic()
            with Reader(bootstrap, group, topic) as second:
                eventually(lambda: metric("catching_up_partitions") == 1, waiting_for="one partition has moved")
                eventually(lambda: len(second.owned) == 1)
                seen = CLOCK.monotonic()
                (moved,) = second.owned
                second.commit(moved, RECORDS // 2)
                eventually(lambda: metric("group_lag_offsets") == 2 * RECORDS - RECORDS // 2)
                measured_again()
                sentence("1 of 1 moved partition is catching up, for ")
                still_behind = CLOCK.monotonic()
                measured_again()

                second.commit(moved, RECORDS)
                eventually(lambda: metric("catching_up_partitions") == 0, waiting_for="it has caught up")
                caught_up = CLOCK.monotonic()
                assert still_behind - seen <= metric("catch_up_seconds") <= caught_up - before_move
                assert metric("catch_up_partition_seconds_total") == pytest.approx(metric("catch_up_seconds"))
                sentence("In the last catch-up, 1 moved partition was behind for ")

                catch_up = AgentApi(url).group(group).summary.lag.catch_up
                assert (catch_up.partitions, catch_up.moved) == (0, 1)
                assert catch_up.seconds == pytest.approx(metric("catch_up_seconds"))
