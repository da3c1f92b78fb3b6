"""Problems of groups on the Fleet board, evaluated by promtool: Main trigger, Other problem, and firing alerts."""

from __future__ import annotations

import pytest

from support.charts.boards import boards, filled, questions
from support.charts.promtool import PROMTOOL, Answer, unlike

FLEET = "rebalance-fleet"
TABLE = {
    each.target: each for each in questions(FLEET, boards()[FLEET]) if each.panel == "Most expensive groups, and why"
}
(MOSTLY,) = (each for each in TABLE.values() if "on (trigger)" in each.expression)
(FIRING,) = (each for each in questions(FLEET, boards()[FLEET]) if each.panel == "Firing alerts")
(DEPARTED,) = (
    each for each in questions(FLEET, boards()[FLEET]) if each.panel == "Members that failed or keep leaving"
)
(ALSO,) = (each for each in TABLE.values() if '"finding"' in each.expression)

pytestmark = pytest.mark.skipif(PROMTOOL is None, reason="promtool was not found")


def objections(question, series, labels, value, folder):
    """promtool's errors if this is the only row after twenty minutes of these series."""
    named = {
        f'{name}{{job="a", instance="b", consumergroup="orders"{more}}}': values
        for (name, more), values in series.items()
    }
    samples = {f'{{consumergroup="orders"{labels}}}': value} if labels else {}
    return unlike(named, [Answer(filled(question.expression, 1_200, 60, scrape=60), "20m", samples)], folder)


@pytest.mark.parametrize(
    ("counts", "trigger"),
    [
        ({"member_failed": 1, "member_joined": 1}, "member_failed"),
        ({"member_gone": 20, "member_joined": 21}, "member_gone"),
        ({"member_gone": 1, "member_joined": 1, "rejoin": 1}, "member_gone"),
        ({"member_failed": 10, "member_joined": 20}, "member_joined"),
        ({"group_started": 60, "rejoin": 20}, "rejoin"),
    ],
)
def test_the_gravest_of_about_equally_frequent_triggers_is_named(counts, trigger, tmp_path):
    """A killed member fails and rejoins equally often; the failure is the first cause."""
    series = {
        ("kafka_rebalance_completed_total", f', trigger="{name}"'): f"0 {count}x19" for name, count in counts.items()
    }
    weight = float(MOSTLY.expression.partition(f'"trigger", "{trigger}"')[0].rpartition("vector(")[2].partition(")")[0])
    value = counts[trigger] * weight
    assert objections(MOSTLY, series, f', trigger="{trigger}"', value, tmp_path) == ""


QUIET = {
    ("kafka_rebalance_in_progress_seconds", ""): "0x20",
    ("kafka_rebalance_members", ""): "3x20",
    ("kafka_rebalance_rollout_in_progress", ""): "0x20",
    ("kafka_rebalance_group_empty_seconds", ""): "0x20",
    ("kafka_rebalance_members_expelled_total", ""): "3x20",
    ("kafka_rebalance_flapping_members", ""): "0x20",
    ("kafka_rebalance_idle_members", ""): "0x20",
    ("kafka_rebalance_completed_total", ', trigger="rejoin"'): "0x20",
    ("kafka_rebalance_failed_total", ', reason="aborted"'): "0x10 1x10",
    ("kafka_rebalance_partitions_moved_excess_total", ""): "0x20",
    ("kafka_rebalance_assignment_skew_ratio", ', weight="partitions"'): "1x20",
}
"""A group without a finding: one aborted rebalance is normal."""

PLANTED = {
    "excess moves": {("kafka_rebalance_partitions_moved_excess_total", ""): "0+1x20"},
    "idle members": {("kafka_rebalance_idle_members", ""): "2x20"},
    "uneven": {("kafka_rebalance_assignment_skew_ratio", ', weight="partitions"'): "2x20"},
    "flapping": {("kafka_rebalance_flapping_members", ""): "1x20"},
    "too slow": {("kafka_rebalance_members_expelled_total", ""): "3x10 4x10"},
    "failed": {("kafka_rebalance_failed_total", ', reason="aborted"'): "0+1x20"},
    "storm": {("kafka_rebalance_completed_total", ', trigger="rejoin"'): "0+1x20"},
    "no members": {("kafka_rebalance_group_empty_seconds", ""): "0+60x20"},
    "stuck": {("kafka_rebalance_in_progress_seconds", ""): "0+60x20"},
}
"""Finding -> series that show it, the least grave first."""


@pytest.mark.parametrize("finding", PLANTED)
def test_the_gravest_finding_of_a_group_is_named(finding, tmp_path):
    series = dict(QUIET)
    for rank, (name, shows) in enumerate(PLANTED.items(), 1):
        series |= shows
        if name == finding:
            assert objections(ALSO, series, f', finding="{finding}"', rank, tmp_path) == ""


def test_a_group_without_a_finding_has_none(tmp_path):
    assert objections(ALSO, QUIET, "", 0, tmp_path) == ""


def test_each_member_that_failed_or_keeps_leaving_has_one_row_with_several_observers(tmp_path):
    series = {
        f'kafka_rebalance_departures{{job="a", instance="{instance}", consumergroup="{group}", client_id="{member}", '
        f'host="h", how="{how}"}}': values
        for instance, group, member, how, values in (
            ("b", "orders", "orders-2", "expelled", "3x20"),
            ("c", "orders", "orders-2", "expelled", "2x20"),
            ("b", "payments", "payments-2", "failed", "1x20"),
            ("b", "billing", "billing-3", "left", "5x10 _x10"),
        )
    }
    rows = {
        '{consumergroup="orders", client_id="orders-2", host="h", how="expelled"}': 3,
        '{consumergroup="payments", client_id="payments-2", host="h", how="failed"}': 1,
    }
    assert unlike(series, [Answer(filled(DEPARTED.expression, 1_200, 60), "20m", rows)], tmp_path) == ""


def test_firing_alerts_are_listed_with_their_age_and_others_are_not(tmp_path):
    series = {}
    for alert, state, severity, more in (
        ("KafkaGroupRebalanceStorm", "firing", "warning", ', consumergroup="orders"'),
        ("KafkaGroupIdleMembers", "firing", "info", ', consumergroup="orders"'),
        ("KafkaGroupEmpty", "pending", "warning", ', consumergroup="orders"'),
        ("KafkaGroupStalled", "firing", "warning", ', consumergroup="payments"'),
        ("RebalanceAgentDown", "firing", "warning", ', instance="b"'),
        ("NodeDown", "firing", "warning", ', consumergroup="orders"'),
    ):
        labels = f'alertname="{alert}", severity="{severity}"{more}'
        series[f'ALERTS{{alertstate="{state}", {labels}}}'] = "1x20"
        series[f"ALERTS_FOR_STATE{{{labels}}}"] = "300x20"
    rows = {
        '{alertname="KafkaGroupRebalanceStorm", consumergroup="orders", severity="warning"}': 900,
        '{alertname="RebalanceAgentDown", severity="warning"}': 900,
    }
    expression = filled(FIRING.expression, 1_200, 60, "orders")
    assert unlike(series, [Answer(expression, "20m", rows)], tmp_path) == ""
