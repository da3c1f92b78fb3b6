"""Pushing clients and their series on /metrics."""

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.gateway.telemetry import telemetry_clients
from rebalance_agent.gateway.telemetry.push_error import PushError, PushOutcome
from rebalance_agent.gateway.telemetry.telemetry_clients import ADDRESS_CLIENTS_MAX, TelemetryClients
from support.observer.scrapes import families

INTERVAL_S = 10
PREFIX = "org.apache.kafka.consumer."
OURS = "kafka_rebalance_member_client_"


class Telemetry:
    """Clients with a clock that the test sets."""

    def __init__(self):
        self.clock, self.ends = FakeClock(), []
        self.clients = TelemetryClients(self.clock, INTERVAL_S, self.ends.append)

    def push(self, instance="i", group="g", client_id="c", host="h", **values):
        self.clients.admit(instance, host)
        named = {f"{PREFIX}{name.replace('_', '.')}": value for name, value in values.items()}
        self.clients.pushed(instance, (group, client_id, host), named)

    def series(self):
        """(name, label values) -> value."""
        return {
            (sample.name.removeprefix(OURS), *sample.labels.values()): sample.value
            for family in families(self.clients.text()).values()
            for sample in family.samples
        }


@pytest.fixture
def telemetry():
    return Telemetry()


def test_pushed_values_become_series_in_seconds_with_the_clients_labels(telemetry):
    telemetry.push(coordinator_rebalance_latency_max=1500, poll_idle_ratio_avg=0.25, last_poll_seconds_ago=4)
    assert telemetry.series() == {
        ("rebalance_seconds", "g", "c", "h", "max"): 1.5,
        ("poll_idle_ratio", "g", "c", "h"): 0.25,
        ("last_poll_age_seconds", "g", "c", "h"): 4,
    }


def test_a_push_replaces_the_previous_one(telemetry):
    telemetry.push(coordinator_rebalance_latency_max=1500)
    telemetry.clock.advance(INTERVAL_S * 1000)
    telemetry.push(coordinator_rebalance_latency_avg=1000)
    assert telemetry.series() == {("rebalance_seconds", "g", "c", "h", "avg"): 1.0}


def test_clients_with_equal_labels_share_series_of_the_worst_and_of_sums(telemetry):
    for instance, number in (("one", 1), ("other", 3)):
        telemetry.push(
            instance,
            coordinator_commit_latency_max=number * 1000,
            poll_idle_ratio_avg=number / 4,
            coordinator_rebalance_latency_total=number * 1000,
        )
    assert telemetry.series() == {
        ("commit_seconds", "g", "c", "h", "max"): 3,
        ("poll_idle_ratio", "g", "c", "h"): 0.25,
        ("rebalancing_seconds_total", "g", "c", "h"): 4,
    }


def test_the_series_of_a_client_end_with_it(telemetry):
    telemetry.push("one", client_id="one", last_poll_seconds_ago=1)
    telemetry.push("other", client_id="other", last_poll_seconds_ago=1)
    telemetry.clients.terminated("one")
    assert list(telemetry.series()) == [("last_poll_age_seconds", "g", "other", "h")]
    assert telemetry.ends == [True]
    telemetry.clients.terminated("one")
    assert telemetry.ends == [True], "once"


def test_a_client_without_a_push_for_three_intervals_is_removed(telemetry):
    telemetry.push("one", client_id="one", last_poll_seconds_ago=1)
    telemetry.clock.advance(INTERVAL_S * 1000)
    telemetry.push("other", client_id="other", last_poll_seconds_ago=1)
    telemetry.clock.advance(2 * INTERVAL_S * 1000)
    assert len(telemetry.series()) == 2
    telemetry.clock.advance(1)
    assert list(telemetry.series()) == [("last_poll_age_seconds", "g", "other", "h")]
    assert telemetry.ends == [False]


def test_a_push_long_before_its_time_is_refused(telemetry):
    telemetry.push()
    telemetry.clock.advance(INTERVAL_S * 500 - 1)
    with pytest.raises(PushError) as refusal:
        telemetry.push()
    assert refusal.value.outcome is PushOutcome.THROTTLED
    telemetry.push("another")
    telemetry.clock.advance(1)
    telemetry.push()


def test_the_number_of_pushing_clients_is_bounded(telemetry, monkeypatch):
    monkeypatch.setattr(telemetry_clients, "CLIENTS_MAX", 2)
    telemetry.push("one")
    telemetry.push("two")
    with pytest.raises(PushError) as refusal:
        telemetry.push("three")
    assert refusal.value.outcome is PushOutcome.THROTTLED
    telemetry.clients.terminated("one")
    telemetry.push("three")


def test_one_address_takes_at_most_half_of_the_places(telemetry):
    for number in range(ADDRESS_CLIENTS_MAX):
        telemetry.push(f"invented-{number}")
    with pytest.raises(PushError, match="of this address") as refusal:
        telemetry.push("one more")
    assert refusal.value.outcome is PushOutcome.THROTTLED
    telemetry.push("honest", host="another")
    telemetry.clients.terminated("invented-0")
    telemetry.push("one more")
