"""The panel Storms of the Fleet board does not count deploys, like the alert on storms."""

from __future__ import annotations

import pytest
from alerts.rebalances import ROLLOUT

from support.charts.boards import boards, filled, questions
from support.charts.promtool import PROMTOOL, Answer, unlike

FLEET = "rebalance-fleet"
(STORMS,) = (each for each in questions(FLEET, boards()[FLEET]) if each.panel == "Storms")


def shown(at, expected, folder):
    """promtool's errors if the panel has these points (group -> value) at this minute.

    Two groups of two members rebalance once a minute; one of them is deployed until minute 30.
    """
    series = {
        f'{name}{{job="a", instance="b", consumergroup="{group}"{more}}}': values
        for group, rollout in (("storm", "0x60"), ("deployed", "1x30 0x29"))
        for name, more, values in (
            ("kafka_rebalance_completed_total", ', trigger="member_joined"', "0+1x60"),
            ("kafka_rebalance_members", "", "2x60"),
            ("kafka_rebalance_rollout_in_progress", "", rollout),
        )
    }
    samples = {f'{{consumergroup="{group}"}}': value for group, value in expected.items()}
    return unlike(series, [Answer(filled(STORMS.expression, 1_200, 60), f"{at}m", samples)], folder)


@pytest.mark.skipif(PROMTOOL is None, reason="promtool was not found")
@pytest.mark.parametrize(("at", "expected"), [(30, {"storm": 2.5}), (31, {"storm": 2.5, "deployed": 2.5})])
def test_a_deploy_is_no_storm_until_the_metric_shows_its_end(at, expected, tmp_path):
    assert shown(at, expected, tmp_path) == ""


def test_the_panel_has_the_condition_of_the_alert_that_inhibits_storms():
    condition = " ".join(ROLLOUT.expression.split())
    selected = 'job=~"$job", instance=~"$instance", cluster=~"$cluster", consumergroup=~"$consumergroup"'
    assert f"unless {condition.replace('in_progress)', f'in_progress{{{selected}}})')}" in STORMS.expression
