"""The variable Member also selects durations, whose metrics have no member: evaluated by Prometheus' own promtool."""

from __future__ import annotations

import pytest

from support.charts.boards import boards, filled, questions
from support.charts.promtool import PROMTOOL, Answer, unlike

MEMBERS = "rebalance-members"
SECONDS = {"slow": 12, "quick": 0.0625, "once": 7}
"""Member -> time of its revoked callback, once a minute or only once; each has a sidecar of its own."""

pytestmark = pytest.mark.skipif(PROMTOOL is None, reason="promtool was not found")


def the(panel):
    """The first query of a panel."""
    return next(each for each in questions(MEMBERS, boards()[MEMBERS]) if each.panel == panel)


def series():
    """The series of both sidecars."""
    made = {}
    for member, seconds in SECONDS.items():
        labels = f'job="a", instance="{member}-pod", consumergroup="orders"'
        callback = "kafka_rebalance_member_callback_seconds"
        made[f'kafka_rebalance_member_generation{{{labels}, client_id="{member}"}}'] = "7x30"

        def after(each, once=member == "once"):
            return f"0x17 {each}x12" if once else f"0+{each}x30"

        for bound in (0.1, 30, "+Inf"):
            made[f'{callback}_bucket{{{labels}, callback="revoked", le="{bound}"}}'] = after(
                1 if float(bound) >= seconds else 0
            )
        made[f'{callback}_sum{{{labels}, callback="revoked"}}'] = after(seconds)
        made[f'{callback}_count{{{labels}, callback="revoked"}}'] = after(1)
    return made


def objections(panel, member, samples, folder):
    """promtool's errors if the panel has these samples while this member is selected."""
    question = the(panel)
    expression = filled(question.expression.replace("$client_id", member), 1_200, question.step, scrape=60)
    return unlike(series(), [Answer(expression, "20m", samples)], folder)


@pytest.mark.parametrize(("member", "bound"), [("slow", 30), ("quick", 0.1), ("once", 7), (".*", 30)])
def test_the_slowest_callback_is_that_of_the_selected_members(member, bound, tmp_path):
    """By the bound of its bucket; what ran once took no longer than all of its process."""
    assert objections("Slowest callback (upper bound)", member, {"{}": bound}, tmp_path) == ""


@pytest.mark.parametrize(
    ("member", "shown"), [("slow", {"slow"}), ("quick", {"quick"}), (".*", {"slow", "quick", "once"})]
)
def test_the_chart_names_the_process_and_shows_the_time_itself(member, shown, tmp_path):
    samples = {
        f'{{consumergroup="orders", instance="{each}-pod", callback="revoked"}}': SECONDS[each] for each in shown
    }
    assert objections("Slowest callbacks", member, samples, tmp_path) == ""
