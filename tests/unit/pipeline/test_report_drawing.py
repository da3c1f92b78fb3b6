"""Scales, ticks, words and names of a report."""

from __future__ import annotations

import datetime as dt
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.pipeline.report.charts import Stack, heat_map, spark, stacks
from rebalance_agent.pipeline.report.member_names import MemberRow, owned_by_name
from rebalance_agent.pipeline.report.periods import PERIODS_MAX, periods
from rebalance_agent.ui.svg.canvas import Canvas, Scale, nice_ticks
from rebalance_agent.ui.words import escaped, percent, rounded_duration, shortened


@given(st.floats(1e-6, 1e9), st.integers(2, 8), st.booleans())
def test_ticks_are_equidistant_from_zero_to_the_maximum(most, wanted, seconds):
    ticks = nice_ticks(most, wanted, seconds=seconds)
    assert ticks[0] == 0
    assert ticks[-1] >= most * (1 - 1e-6)
    assert ticks[-2] < most
    assert 2 <= len(ticks) <= 2 * wanted + 3
    assert all(two - one == pytest.approx(ticks[1]) for one, two in itertools.pairwise(ticks))


def test_ticks_of_durations_are_round_times():
    assert nice_ticks(200, seconds=True) == [0, 60, 120, 180, 240]
    assert nice_ticks(7_000, seconds=True)[1] == 1_800
    assert nice_ticks(0) == [0, 1]


def test_a_scale_is_clamped_to_its_ends():
    scale = Scale(0, 10, 100, 0)
    assert [scale(each) for each in (-5, 0, 5, 10, 99)] == [100, 100, 50, 0, 0]
    assert Scale(1, 1, 0, 9)(1) == 0


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (None, "–"),  # noqa: RUF001
        (0, "0"),
        (0.25, "250 ms"),
        (4.21, "4.2 s"),
        (75, "75 s"),
        (600, "10 min"),
        (10_000, "2.8 h"),
        (400_000, "4.6 d"),
    ],
)
def test_a_duration_has_a_suitable_unit(seconds, words):
    assert rounded_duration(seconds).replace("\u00a0", " ") == words


def test_durations_of_one_axis_have_one_unit():
    assert [rounded_duration(each, 14_400).replace("\u00a0", " ") for each in (0, 3_600, 14_400)] == [
        "0",
        "1.0 h",
        "4.0 h",
    ]


def test_a_percentage_below_100_is_not_rounded_to_100():
    assert percent(1.0).startswith("100.0")
    assert percent(0.99996).startswith("99.996")
    assert percent(0.5, 0).startswith("50")


@given(st.text())
def test_escaped_text_has_no_markup(text):
    shown = escaped(text)
    assert not set(shown) & set("<>\"'")
    assert shown.isprintable() or not text.isprintable()


def test_a_long_name_is_cut():
    assert shortened("x" * 500) == "x" * 119 + "…"
    assert shortened("short") == "short"


def test_overlapping_labels_are_omitted():
    canvas = Canvas(100, 20)
    canvas.x_labels([(10, "1 Jun"), (20, "2 Jun"), (70, "3 Jun"), (99, "4 Jun")], 10)
    reported = "".join(canvas.parts)
    assert "3 Jun" in reported
    assert "2 Jun" not in reported
    assert "4 Jun" not in reported, "it would extend beyond the chart"


def test_a_too_high_column_is_cut_off_and_marked():
    low, high = Stack("a", [("k", 1.0, "")]), Stack("b", [("k", 500.0, "")])
    assert 'class="cut"' in stacks([low, high], ("t", "d"), cap=4.0)
    assert 'class="cut"' not in stacks([low, high], ("t", "d"))


def test_a_missing_cell_is_not_drawn_and_zero_has_the_palest_colour():
    reported = heat_map(
        [("a", [(-1, "gone"), (0, "idle"), (9, "busy")])], ["", "", ""], ("t", "d"), size=(99, 60), left=30
    )
    assert "gone" not in reported
    assert 'class="h0" data-t="idle"' in reported
    assert 'class="h8" data-t="busy"' in reported


def test_no_cost_is_no_sparkline():
    assert spark([0.0, 0.0]) == ""
    assert spark([0.0, 1.0]).startswith("<svg")


SINCE = dt.datetime(2026, 6, 3, 10, 30, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("days", "hours", "since"),
    [
        (0, 1, dt.datetime(2026, 6, 3, 10, tzinfo=dt.UTC)),
        (4, 1, dt.datetime(2026, 6, 3, 10, tzinfo=dt.UTC)),
        (14, 6, dt.datetime(2026, 6, 3, 6, tzinfo=dt.UTC)),
        (30, 24, dt.datetime(2026, 6, 3, tzinfo=dt.UTC)),
        (365, 168, dt.datetime(2026, 6, 1, tzinfo=dt.UTC)),
    ],
)
def test_periods_follow_the_calendar(days, hours, since):
    begins, ends, length_s = periods(SINCE, SINCE + dt.timedelta(days))
    assert (begins, length_s) == (since, hours * 3_600)
    assert ends - dt.timedelta(seconds=length_s) <= SINCE + dt.timedelta(days) < ends


@given(st.integers(31_536_000, 7_258_118_400), st.integers(0, 40_000_000_000))
def test_the_number_of_periods_is_bounded(epoch_s, seconds):
    first = dt.datetime.fromtimestamp(epoch_s, dt.UTC)
    last = min(first + dt.timedelta(seconds=seconds), dt.datetime(2300, 1, 1, tzinfo=dt.UTC))
    since, until, length_s = periods(first, last)
    assert since <= first
    assert last < until
    assert (until - since).total_seconds() / length_s <= PERIODS_MAX + 2


def test_members_have_readable_names():
    rows = [MemberRow("id-1", "client", 3, "instance"), MemberRow("id-2", "client", 4, "instance", "pod")]
    assert owned_by_name([rows]) == [{"instance": 3, "pod": 4}]


def test_members_with_equal_names_are_distinguished_by_their_ids():
    both = [MemberRow("consumer-aaaaaa", "consumer", 3), MemberRow("consumer-bbbbbb", "consumer", 4)]
    named = owned_by_name([both, both[:1]])
    assert named == [{"consumer …aaaaaa": 3, "consumer …bbbbbb": 4}, {"consumer …aaaaaa": 3}]
