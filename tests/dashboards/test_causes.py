"""The columns Mostly and Also of the table of the board Fleet, evaluated by Prometheus' own promtool."""

from __future__ import annotations

import subprocess

import pytest
import yaml

from support.charts.boards import boards, filled, questions
from support.charts.promtool import PROMTOOL

FLEET = "rebalance-fleet"
TABLE = {each.target: each for each in questions(FLEET, boards()[FLEET]) if each.panel == "Which groups hurt, and why"}
(MOSTLY,) = (each for each in TABLE.values() if "on (trigger)" in each.expression)
(ALSO,) = (each for each in TABLE.values() if '"finding"' in each.expression)

pytestmark = pytest.mark.skipif(PROMTOOL is None, reason="promtool was not found")


def objections(question, series, labels, value, folder):
    """What promtool objects to, if this is the only row after twenty minutes of these series."""
    test = {
        "interval": "1m",
        "input_series": [
            {
                "series": f'{name}{{job="a", instance="b", consumergroup="orders"{more}}}',
                "values": values,
            }
            for (name, more), values in series.items()
        ],
        "promql_expr_test": [
            {
                "expr": filled(question.expression, 1_200, 60, scrape=60),
                "eval_time": "20m",
                "exp_samples": [{"labels": f'{{consumergroup="orders"{labels}}}', "value": value}] if labels else [],
            }
        ],
    }
    path = folder / "causes.yaml"
    path.write_text(yaml.safe_dump({"evaluation_interval": "1m", "tests": [test]}), encoding="utf-8")
    done = subprocess.run([PROMTOOL, "test", "rules", path], capture_output=True, check=False, text=True)
    return done.stdout + done.stderr if done.returncode else ""


@pytest.mark.parametrize(
    ("counts", "trigger"),
    [
        ({"member_failed": 1, "member_joined": 1}, "member_failed"),
        ({"member_gone": 1, "member_joined": 1, "rejoin": 1}, "member_gone"),
        ({"member_failed": 1, "member_joined": 2}, "member_joined"),
        ({"group_started": 3, "rejoin": 1}, "rejoin"),
    ],
)
def test_of_equally_frequent_triggers_the_gravest_is_named(counts, trigger, tmp_path):
    """A killed member fails and joins again, as often; what began it is the first."""
    series = {
        ("kafka_rebalance_completed_total", f', trigger="{name}"'): f"0+{count}x20" for name, count in counts.items()
    }
    weight = float(MOSTLY.expression.partition(f'"trigger", "{trigger}"')[0].rpartition("vector(")[2].partition(")")[0])
    value = counts[trigger] * 20 + weight
    assert objections(MOSTLY, series, f', trigger="{trigger}"', value, tmp_path) == ""


QUIET = {
    ("kafka_rebalance_in_progress_seconds", ""): "0x20",
    ("kafka_rebalance_members", ""): "3x20",
    ("kafka_rebalance_rollout_in_progress", ""): "0x20",
    ("kafka_rebalance_group_empty_seconds", ""): "0x20",
    ("kafka_rebalance_flapping_members", ""): "0x20",
    ("kafka_rebalance_idle_members", ""): "0x20",
    ("kafka_rebalance_completed_total", ', trigger="rejoin"'): "0x20",
    ("kafka_rebalance_failed_total", ', reason="aborted"'): "0x20",
    ("kafka_rebalance_partitions_moved_excess_total", ""): "0x20",
    ("kafka_rebalance_assignment_skew_ratio", ', weight="partitions"'): "1x20",
}
"""A group without a finding."""

PLANTED = {
    "needless moves": {("kafka_rebalance_partitions_moved_excess_total", ""): "0+1x20"},
    "idle members": {("kafka_rebalance_idle_members", ""): "2x20"},
    "uneven": {("kafka_rebalance_assignment_skew_ratio", ', weight="partitions"'): "2x20"},
    "flapping": {("kafka_rebalance_flapping_members", ""): "1x20"},
    "failed": {("kafka_rebalance_failed_total", ', reason="aborted"'): "0+1x20"},
    "storm": {("kafka_rebalance_completed_total", ', trigger="rejoin"'): "0+1x20"},
    "no members": {("kafka_rebalance_group_empty_seconds", ""): "0+60x20"},
    "stuck": {("kafka_rebalance_in_progress_seconds", ""): "0+60x20"},
}
"""Finding -> what shows it, the least grave first."""


@pytest.mark.parametrize("finding", PLANTED)
def test_the_gravest_finding_of_a_group_is_named(finding, tmp_path):
    series = dict(QUIET)
    for rank, (name, shows) in enumerate(PLANTED.items(), 1):
        series |= shows
        if name == finding:
            assert objections(ALSO, series, f', finding="{finding}"', rank, tmp_path) == ""


def test_a_group_without_a_finding_has_none(tmp_path):
    assert objections(ALSO, QUIET, "", 0, tmp_path) == ""
