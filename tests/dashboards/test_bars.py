"""Bars of counts add up to their counter, at each usual scrape interval: evaluated by Prometheus' own promtool."""

from __future__ import annotations

import random
import re
from itertools import pairwise

import pytest

from support.charts.boards import boards, filled, questions
from support.charts.promtool import PROMTOOL, Answer, unlike

BOARDS = boards()
EVERY = [question for uid, board in BOARDS.items() for question in questions(uid, board)]
(TRIGGERS,) = (each for each in EVERY if (each.board, each.panel) == ("rebalance-group", "Rebalances by trigger"))
BARS = 20
SCRAPE_MAX = 60
"""Seconds; the longest usual interval."""

FIRST = 20
"""Values of the counters before."""

PHASE = 7
"""Seconds between a scrape and the next point: Prometheus and Grafana are not synchronised."""

pytestmark = pytest.mark.skipif(PROMTOOL is None, reason="promtool was not found")


def history(chance, scrape, first):
    """Values of a counter at its scrapes: rebalances at random times, at most three between two scrapes."""
    values = [first]
    for _ in range(int(TRIGGERS.step * (BARS + 1)) // scrape):
        values.append(values[-1] + chance.choice((0, 0, 0, 0, 1, 1, 2, 3)) * (chance.random() < scrape / 60))
    return values


def objections(series, expected, scrape, folder):
    """promtool's errors if the counters (group -> counter) have these bars (point -> group -> bar)."""
    labels = 'job="a", instance="b", trigger="rejoin", consumergroup'
    return unlike(
        {
            f'kafka_rebalance_completed_total{{{labels}="{group}"}}': " ".join(map(str, values))
            for group, values in series.items()
        },
        [
            Answer(
                filled(TRIGGERS.expression, 3_600, TRIGGERS.step, group, scrape=scrape),
                f"{at}s",
                {'{trigger="rejoin"}': bar} if bar else {},
            )
            for at, bars in expected.items()
            for group, bar in bars.items()
        ],
        folder,
        f"{scrape}s",
    )


@pytest.mark.parametrize("scrape", [15, 30, SCRAPE_MAX])
def test_bars_add_up_to_the_counter(scrape, tmp_path):
    """Each bar is the increase from the last scrape before the previous point to the last one before its own."""
    chance = random.Random(scrape)
    series = {f"group-{number}": history(chance, scrape, FIRST) for number in range(10)}
    points = [PHASE + int(TRIGGERS.step) * number for number in range(BARS + 1)]
    bars = {
        at: {group: values[at // scrape] - values[before // scrape] for group, values in series.items()}
        for before, at in pairwise(points)
    }
    assert objections(series, bars, scrape, tmp_path) == ""
    assert {group: FIRST + sum(bar[group] for bar in bars.values()) for group in series} == {
        group: values[points[-1] // scrape] for group, values in series.items()
    }


@pytest.mark.parametrize(("scrape", "shown"), [(15, 4), (30, 4), (SCRAPE_MAX, 3)])
def test_the_first_bar_of_a_new_counter_is_low_by_a_quarter_at_most(scrape, shown, tmp_path):
    """Prometheus does not extrapolate a counter to before its 0, but the bar takes the extrapolation off."""
    values = [0, *[4] * (int(TRIGGERS.step) // scrape + 1)]
    at = PHASE + int(TRIGGERS.step)
    assert objections({"new": values}, {at: {"new": shown}}, scrape, tmp_path) == ""


def test_points_of_counts_are_three_scrapes_apart():
    """Otherwise Grafana's window is longer than the distance of points and one scrape, and bars count twice."""
    counts = [
        each
        for each in EVERY
        if not each.now and re.search(r"\bincrease\(", each.expression) and "@ end()" not in each.expression
    ]
    assert len(counts) > 30
    for each in counts:
        assert each.step >= 3 * SCRAPE_MAX, each
        assert "* $__interval_ms / $__rate_interval_ms)" in each.expression, each
