"""A client that comes near its poll limit pushes at shorter intervals until it polls again."""

import pytest
from alerts.values import load

from rebalance_agent.clock import FakeClock
from rebalance_agent.gateway.telemetry.client_values import LAST_POLL
from rebalance_agent.gateway.telemetry.push_error import PushOutcome
from rebalance_agent.gateway.telemetry.telemetry_clients import TelemetryClients
from rebalance_agent.gateway.telemetry.telemetry_frames import TelemetryFrames
from rebalance_agent.gateway.transport.request_head import read_head
from rebalance_agent.groupprotocol.wire.error_codes import NO_ERROR, UNKNOWN_SUBSCRIPTION_ID
from rebalance_agent.model.reported.member_software import ClientSoftware
from support.telemetry.otlp import gauge, metrics_data
from support.telemetry.requests import JAVA, error_of, get_request, push_request, subscription

INTERVAL_S, NEAR_INTERVAL_S, LIMIT_S = 15, 5, 150
PROMETHEUS_S = 15
"""Interval of scrapes, and of evaluations."""

ALERT = load().alerts["KafkaGroupMemberNearPollLimit"]


class Client:
    """A Java client with one connection, which is a member's if ``limit_s`` is not None."""

    def __init__(self, limit_s=LIMIT_S):
        self.clock, self.outcomes = FakeClock(), []
        self.clients = TelemetryClients(self.clock, INTERVAL_S)
        self.frames = TelemetryFrames(self.clients, self.outcomes.append)
        self.frames.connected("10.0.0.1")
        self.frames.greeted(ClientSoftware(*JAVA))
        self.frames.offered(())
        if limit_s is not None:
            self.frames.joined("orders", "c1", limit_s)
        self.asked = self.ask(get_request())

    def ask(self, frame):
        return subscription(self.frames.answer(read_head(frame), frame))

    def renew(self):
        self.asked = self.ask(get_request(self.asked.client_instance_id))
        return self.asked.push_interval_ms / 1000

    def push(self, age_s, after_s=INTERVAL_S, **more):
        """The error code of a push ``after_s`` seconds after the previous one."""
        self.clock.advance(round(after_s * 1000))
        data = metrics_data(gauge(LAST_POLL, age_s), group_id="orders")
        ids = self.asked.client_instance_id, self.asked.subscription_id
        frame = push_request(*ids, data, client_id="c1", **more)
        return error_of(self.frames.answer(read_head(frame), frame))


def test_the_interval_is_shorter_from_a_quarter_of_the_limit_until_the_next_poll():
    client = Client()
    assert client.push(0.0) == NO_ERROR
    assert client.push(37.4) == NO_ERROR
    assert client.push(52.4) == UNKNOWN_SUBSCRIPTION_ID, "it asks for its subscription at once"
    assert client.renew() == NEAR_INTERVAL_S
    assert client.push(57.4, NEAR_INTERVAL_S) == NO_ERROR
    assert client.push(1.0, NEAR_INTERVAL_S) == UNKNOWN_SUBSCRIPTION_ID
    assert client.renew() == INTERVAL_S
    assert client.push(1.0) == NO_ERROR
    assert client.outcomes == [PushOutcome.ACCEPTED] * 6


def test_the_values_of_a_push_with_a_changed_interval_are_used():
    client = Client()
    client.push(140.0)
    assert b"last_poll_age_seconds" in client.clients.text()
    assert b" 140" in client.clients.text()


def test_a_client_that_pushes_faster_than_the_shorter_interval_is_throttled():
    client = Client()
    client.push(140.0)
    client.renew()
    assert client.push(142.0, NEAR_INTERVAL_S / 2 - 0.1) == PushOutcome.THROTTLED.error_code
    assert client.push(142.0, 0.2) == NO_ERROR


@pytest.mark.parametrize(("limit_s", "age_s"), [(None, 1_000.0), (0.0, 1_000.0), (20, INTERVAL_S - 1.0)])
def test_the_interval_stays_without_a_known_limit_and_for_a_client_that_has_polled_since_its_last_push(limit_s, age_s):
    client = Client(limit_s)
    assert client.push(age_s) == NO_ERROR
    assert client.renew() == INTERVAL_S


def test_the_shortest_limit_of_members_with_equal_labels_counts():
    client = Client(1_000.0)
    other = TelemetryFrames(client.clients)
    other.connected("10.0.0.1")
    other.joined("orders", "c1", 100.0)
    assert client.push(30.0) == UNKNOWN_SUBSCRIPTION_ID
    other.closed()
    assert client.renew() == INTERVAL_S


def test_the_last_push_of_a_client_near_its_limit_is_accepted():
    client = Client()
    client.push(140.0)
    client.renew()
    assert client.push(140.0, 0.0, terminating=1) == NO_ERROR
    assert client.clients.text().count(b"last_poll_age_seconds") == 0


@pytest.mark.parametrize("limit_s", [LIMIT_S, 160, 200, 300])
@pytest.mark.parametrize("phase_s", range(INTERVAL_S))
def test_the_alerts_condition_is_met_a_minute_and_two_intervals_of_prometheus_before_the_limit(limit_s, phase_s):
    """The client does not poll from its start on. Java counts whole seconds, and varies its first interval by half."""
    threshold_s = min(ALERT["ratio"] * limit_s, limit_s - ALERT["remaining"])
    client, age_s, after_s = Client(limit_s), phase_s, phase_s
    while int(age_s) <= threshold_s:
        changed = client.push(int(age_s), after_s) == UNKNOWN_SUBSCRIPTION_ID
        after_s = 1.5 * client.renew() if changed else client.asked.push_interval_ms / 1000
        age_s += after_s
    assert client.push(int(age_s), after_s) in {NO_ERROR, UNKNOWN_SUBSCRIPTION_ID}
    assert limit_s - age_s >= 60 + 2 * PROMETHEUS_S
