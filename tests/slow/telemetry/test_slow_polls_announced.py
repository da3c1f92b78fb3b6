"""Java consumers that stop polling show it early enough for an alert a minute before they leave their groups."""

from __future__ import annotations

import os
import uuid
from contextlib import ExitStack, closing

import pytest
from alerts.values import load

from rebalance_agent.clock import SystemClock
from rebalance_agent.model.events import Callback
from rebalance_agent.testing.kafka.kafka_versions import kafka_version
from support.gateway.running import gateway
from support.java.client_jar import compiled, kafka_clients
from support.observer.observing import create_topic, eventually
from support.observer.scrapes import families
from support.telemetry.old_clients import java_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

RUNS = int(os.environ.get("REBALANCE_AGENT_POLL_LIMIT_RUNS", "20"))
LIMIT_S = 150
INTERVAL_S = 15
"""The default of `gateway_telemetry_seconds`."""

SCRAPE_S = EVALUATION_S = 15
ANNOUNCED_S = 60 + SCRAPE_S + EVALUATION_S
"""How long before the limit the condition must be met, so that the alert fires a minute before the limit."""

PREFIX = "kafka_rebalance_member_client_"
PROTOCOLS = (
    {"group.protocol": "classic"},
    {"group.protocol": "consumer", "partition.assignment.strategy": None, "heartbeat.interval.ms": None},
)


class Announced:
    """When the condition of `KafkaGroupMemberNearPollLimit` was first seen to hold, by client id (epoch ms)."""

    def __init__(self, through, values):
        self._through, self._values, self._clock = through, values, SystemClock()
        self.since_ms = {}

    def values(self, *names):
        """The highest value of the series of each client id."""
        found, page = {}, families(self._through.telemetry.text())
        for sample in (each for name in names if PREFIX + name in page for each in page[PREFIX + name].samples):
            client = sample.labels["client_id"]
            found[client] = max(sample.value, found.get(client, 0.0))
        return found

    def look(self):
        now = self._clock.now_ms()
        limits = self.values("poll_limit_seconds")
        ages = self.values("last_poll_age_seconds", "poll_interval_seconds")
        for client, age in ages.items():
            if client in limits and age > self.threshold(limits[client]):
                self.since_ms.setdefault(client, now)

    def threshold(self, limit):
        share, left = self._values["ratio"] * limit, limit - self._values["remaining"]
        return min(share, left) if limit >= self._values["limit"] else share


def test_an_alert_can_fire_a_minute_before_each_consumer_leaves(kafka, tmp_path):
    unique = uuid.uuid4().hex[:8]
    topic = f"topic-{unique}"
    create_topic(kafka.bootstrap_servers, topic, 1)
    class_path = compiled(kafka_clients(kafka_version().number), tmp_path)
    values = load().alerts["KafkaGroupMemberNearPollLimit"]
    with gateway(kafka.bootstrap_servers, telemetry_s=INTERVAL_S) as through, ExitStack() as stack:
        announced, members = Announced(through, values), {}
        for number in range(RUNS):
            name = f"app-{number}"
            properties = {"max.poll.interval.ms": f"{LIMIT_S * 1000}", **PROTOCOLS[number % len(PROTOCOLS)]}
            place = through.bootstrap, f"group-{number}-{unique}", topic, name
            members[name] = stack.enter_context(closing(java_of(class_path, *place, **properties)))
        errors = {name: each.errors for name, each in members.items()}
        eventually(lambda: all(each.owned for each in members.values()), 180, waiting_for=errors)
        eventually(lambda: announced.values("last_poll_age_seconds").keys() == members.keys(), waiting_for=errors)
        for each in members.values():
            each.hold()

        def left():
            return {each.client_id: each for each in through.reported(Callback.LEFT)}

        eventually(
            lambda: left().keys() == members.keys(),
            2 * LIMIT_S,
            between=announced.look,
            waiting_for=lambda: (announced.since_ms, left()),
        )
        ahead = {
            name: (event.timestamp_ms - announced.since_ms.get(name, event.timestamp_ms)) / 1000
            for name, event in left().items()
        }
        print(f"{len(ahead)} consumers, seconds ahead: {sorted(ahead.values())}")
        assert all(seconds >= ANNOUNCED_S for seconds in ahead.values()), ahead
