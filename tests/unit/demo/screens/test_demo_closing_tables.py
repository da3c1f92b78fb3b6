"""The demo's closing tables fit the terminal, and count seats apart from rebalances."""

from __future__ import annotations

import io
import re
from dataclasses import replace

import pytest

from rebalance_agent.demo.observed.differences import SeenStep
from rebalance_agent.demo.observed.summary import summarise
from rebalance_agent.demo.scenario import GROUPS, STEPS, TOPICS
from rebalance_agent.demo.screens.closing_tables import summary_table
from rebalance_agent.demo.screens.fitted_table import fitted_lines
from rebalance_agent.demo.screens.model_rows import HEADINGS, model_rows
from rebalance_agent.demo.screens.screen import Screen
from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.reported.seat_event import SeatOccupant
from support.observer.demo_events import EVENT, GROUP, snapshot, summary


def finished():
    """The summary of the whole scenario: each group has all its members, and started, rebalanced and got a seat."""
    episodes = {}
    for group in GROUPS:
        members = tuple(snapshot(f"m-{member.name}", member.name, 0, 1) for member in group.members)
        event = replace(EVENT, group=group.name, members=members, slowest_member_id=members[0].member_id)
        episodes[group.name] = [event, event, replace(event, trigger=Trigger.MEMBER_REPLACED)]
    steps = tuple(
        SeenStep(step, tuple(replace(episodes[each.group][0], trigger=each.trigger) for each in step.expected), "", {})
        for step in STEPS
    )
    return summarise(GROUPS, episodes, {}, steps, None)


def closed(monkeypatch, columns):
    monkeypatch.setenv("COLUMNS", str(columns))
    stream = io.StringIO()
    screen = Screen(stream, live=False)
    screen.close(finished())
    screen.table(HEADINGS, model_rows(GROUPS, STEPS, TOPICS))
    return stream.getvalue()


@pytest.mark.parametrize("columns", [80, 100, 200])
def test_no_line_of_the_closing_tables_is_longer_than_the_terminal(monkeypatch, columns):
    assert max(map(len, closed(monkeypatch, columns).splitlines())) <= columns


def words(text):
    return set(re.sub(r"[;:─]|\s-(?=\s)", " ", text).split())


def test_a_narrow_terminal_shows_everything_that_a_wide_one_shows(monkeypatch):
    assert words(closed(monkeypatch, 80)) == words(closed(monkeypatch, 300))


def test_values_that_do_not_fit_follow_below_their_row_with_their_headings():
    rows = [("orders", "3", "0.44 0.26", "-"), ("payments", "12", "6.06 " * 6, "a difference")]
    assert fitted_lines(("group", "gen", "stalls", "check"), rows, 24) == [
        "group     gen",
        "─" * 13,
        "orders    3",
        "    stalls: 0.44 0.26",
        "payments  12",
        "    stalls: 6.06 6.06",
        "        6.06 6.06 6.06",
        "        6.06",
        "    check: a difference",
    ]


def only_row(result):
    """The cells of the only group, by heading."""
    headings, (row,) = summary_table(result)
    return dict(zip(headings, row, strict=True))


def test_only_a_run_with_check_has_a_column_for_its_result():
    assert only_row(summary())["check"] == "ok"
    assert "check" not in only_row(summary(coordinator=None))


def test_a_seat_that_was_handed_over_is_not_counted_as_a_rebalance():
    replaced = replace(EVENT, trigger=Trigger.MEMBER_REPLACED)
    shown = only_row(summarise((GROUP,), {"g": [EVENT, EVENT, replaced]}, {}, (), None))
    assert (shown["rebalances"], shown["seats handed over"]) == ("2", "1")


def test_a_seat_shows_the_consumer_that_has_it_now():
    occupied = replace(snapshot("m", "v1-1", 0, 1, 2), occupant=SeatOccupant("v2-1", "/10.0.0.9", 1_000))
    members = (occupied, snapshot("n", "v1-2", 3))
    shown = only_row(summarise((GROUP,), {"g": [replace(EVENT, members=members)]}, {}, (), None))
    assert shown["partitions by member"] == "v1-2=1 v2-1 in the seat of v1-1=3"
