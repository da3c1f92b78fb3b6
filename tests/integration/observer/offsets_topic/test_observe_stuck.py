"""The client of the offsets topic stops reading without an error, as librdkafka's can when leaders move."""

from __future__ import annotations

import logging
import threading

import pytest

from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC
from rebalance_agent.offsets_topic import progress
from support.observer.observing import create_topic, events, eventually, members, observing

pytestmark = pytest.mark.integration


class Silent:
    """A client that returns no more records, and does not end."""

    def __init__(self, client):
        self._client = client

    def close(self):
        self._client.close()
        threading.Event().wait()

    def poll(self, timeout):
        threading.Event().wait(timeout)

    def consume(self, _number, _timeout):
        return []


def test_reading_restarts_at_the_last_position(kafka, monkeypatch, caplog):
    monkeypatch.setattr(progress, "STUCK_S", 2.0)
    bootstrap = kafka.bootstrap_servers
    create_topic(bootstrap, "stuck-topic", 2)
    generation = lambda: watched.metric("kafka_rebalance_generation", consumergroup="stuck")  # noqa: E731
    with (
        caplog.at_level(logging.WARNING),
        observing(bootstrap, settle_seconds=0.2, events_topic="stuck-events", groups_allow="stuck") as watched,
        members(bootstrap, "stuck", "stuck-topic", 1),
    ):
        eventually(lambda: generation() == 1)
        eventually(watched.ready)
        tail = watched.role._watch._tail._tail
        tail._consumer = Silent(tail._consumer)
        with members(bootstrap, "stuck", "stuck-topic", 1):
            eventually(lambda: generation() == 2)
        eventually(lambda: generation() == 3)
        eventually(watched.ready)
        reported = lambda: [each["generation"] for each in events(bootstrap, "stuck-events", group="stuck")]  # noqa: E731
        eventually(lambda: reported() == [1, 2, 3], waiting_for="each generation, once")
    assert f"of {OFFSETS_TOPIC}: reading stopped, and will start again" in caplog.text
