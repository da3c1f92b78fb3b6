"""Alerts in a real Prometheus during the demo: exactly the expected ones fire.

The committed alerts with shorter evaluation intervals; and some with shorter durations (``pace="short"``).
"""

from __future__ import annotations

import pytest

from support.charts.live_prometheus import SCRAPE_SECONDS, Live
from support.charts.live_rules import SHORT
from support.observer.observing import eventually

pytestmark = pytest.mark.timeout(600)

LATE_SECONDS = 25
"""Tolerance: a session timeout of 6 s, delivery to the sidecar, the observer's wait for reports, a scrape before and
after, and other load."""

EXPECTED = {
    # The killed member owned all partitions.
    ("KafkaGroupPartitionsLost", "payments-failover"): "kill -9",
    # Six seconds in its revoked callback; others take milliseconds.
    ("KafkaGroupRevokeCallbackSlow", "orders-weighted"): "slow consumer",
}
"""(alert, group) -> the step of the demo that causes it."""

POSSIBLE = {
    # On a busy machine its members start in two rebalances, and range with random ids causes excess moves.
    ("KafkaGroupExcessMoves", "clicks-range"),
    # On a busy machine its four members join one after the other, which aborts three generations.
    ("KafkaGroupRebalanceFailed", "clicks-hosts"),
}


def firing(live: Live, pace: str) -> dict[tuple[str, str], list[float]]:
    """(alert, group) -> times at which it fired, until the end of the last step."""
    series = live.prometheus.over(f'ALERTS{{alertstate="firing", pace="{pace}"}}', live.began, live.ended)
    return {
        (each.labels["alertname"], each.labels.get("consumergroup", "")): [at for at, _ in each.points]
        for each in series
    }


def test_exactly_the_expected_alerts_fire(live):
    assert set(firing(live, "")) - POSSIBLE == set(EXPECTED), "\n".join(live.lines)


@pytest.mark.parametrize(
    ("alert", "step"), EXPECTED.items(), ids=lambda each: each if isinstance(each, str) else each[0]
)
def test_each_alert_fires_at_its_step(live, alert, step):
    began = live.step(step)
    assert began < firing(live, "")[alert][0] < began + LATE_SECONDS


def test_with_shorter_durations_the_alerts_of_the_demo_fire(live):
    assert {(alert, group) for alert, group in firing(live, "short") if group} == {
        ("KafkaGroupAssignmentSkewed", "clicks-range"),
        ("KafkaGroupIdleMembers", "clicks-range"),
        ("KafkaGroupStandbyMissing", "payments-failover"),
        ("KafkaGroupTopicsOnOneHost", "clicks-hosts"),
    }


def test_the_alert_on_the_standby_fires_from_the_kill_until_the_failback(live):
    times = firing(live, "short")["KafkaGroupStandbyMissing", "payments-failover"]
    assert live.step("kill -9") < times[0] < live.step("failback")
    assert times[-1] < live.step("failback") + LATE_SECONDS


def test_the_alert_on_topics_on_one_host_fires_until_the_assignor_changes(live):
    times = firing(live, "short")["KafkaGroupTopicsOnOneHost", "clicks-hosts"]
    assert times[0] < live.step("hosts: leave")
    assert times[-1] < live.step("hosts: leave") + LATE_SECONDS


def test_the_alert_on_the_agent_fires_before_its_start_and_after_its_end(live):
    ask = 'ALERTS{alertname="RebalanceAgentDown", alertstate="firing", pace="short"}'
    assert live.prometheus.over(ask, live.began + 10, live.ended - SCRAPE_SECONDS) == []
    eventually(lambda: live.prometheus.answer("query", query=ask)["result"], waiting_for="the observer is missed")


def test_every_rule_is_evaluated_without_an_error(live):
    rules = [rule for group in live.prometheus.answer("rules")["groups"] for rule in group["rules"]]
    assert {(rule["name"], rule.get("lastError", "")) for rule in rules if rule["health"] == "err"} == set()
    assert {rule["name"] for rule in rules} >= set(SHORT)


def test_recording_rules_have_values(live):
    rules = [rule for group in live.prometheus.answer("rules")["groups"] for rule in group["rules"]]
    recorded = {rule["name"] for rule in rules if rule["type"] == "recording"}
    assert len(recorded) >= 8
    assert [name for name in sorted(recorded) if not live.prometheus.over(name, live.began, live.ended)] == []
