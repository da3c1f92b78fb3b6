"""The weekly page contains every subject, nothing from outside, and no empty section."""

from __future__ import annotations

import dataclasses
import re

import pytest

from rebalance_agent.pipeline.weekly.week_settings import WeekSettings, member_cost
from rebalance_agent.pipeline.weekly.weekly_page import page
from rebalance_agent.pipeline.weekly.weekly_rows import FlapperRow, SkewRow, TimeoutRow
from rebalance_agent.pipeline.weekly.weekly_summary import summarize
from support.pipeline.markup import Markup
from support.pipeline.weeks import WEEK, advised, group, sample, totals

EVIL = "<script>alert(1)</script>\"'&\u202e\x00"
PARTS = (
    "Partition-seconds stalled by day",
    "What deploys cost, by team",
    "More stall than last week",
    "Less stall than last week",
    "Consumer groups with the most stall",
    "Members that began to flap",
    "Members without a partition",
    "Consumer groups near a limit",
    "Recommended changes",
)
MOVED = "Tue 10:00: stall \u00d7 1.6; Tue 11:00: frequency \u00d7 4.3"
COMPARED = {PARTS[2], PARTS[3], PARTS[5]}


def shown(rows, **settings):
    return page(summarize(rows, WeekSettings(**settings))).replace("\N{NO-BREAK SPACE}", " ")


def titles(html):
    return re.findall("<h3>(.*?)</h3>", html)


def cells(html, title):
    """The texts of the rows of one table."""
    part = html.split(f"<h3>{title}</h3>")[1].split("</figure>")[0]
    rows = re.findall('<tr><th scope="row">(.*?)</tr>', part)
    return [re.sub("<[^>]*>", "", re.sub("</t[hd]><td[^>]*>", "|", row)).split("|") for row in rows]


def test_every_subject_is_present():
    html = shown(sample())
    markup = Markup(html)
    assert titles(html) == list(PARTS)
    assert len(markup.ids) == len(set(markup.ids))
    assert "Rebalances in week 2026-W24" in html
    assert "8 to 14 Jun 2026, compared with 1 to 7 Jun 2026" in html


def test_movers_have_their_deploys_beside_them():
    rows = cells(shown(sample()), "More stall than last week")
    assert rows[0] == ["checkout-notifier", "20,000", "+16,000 (+400 %)", MOVED, "3 · 45 % · Tue 10:31"]
    assert rows[1] == ["payments", "70", "+70 (from 0)", "\N{EN DASH}", "\N{EN DASH}"]
    (down, _) = cells(shown(sample()), "Less stall than last week")
    assert down == ["billing.sink", "300", "-9,000 (-97 %)", "\N{EN DASH}", "1 · 100 %"]


def test_both_weeks_stand_side_by_side():
    worst = cells(shown(sample(), slo=0.999), "Consumer groups with the most stall")[0]
    assert worst == ["checkout-notifier", "99.917 %", "99.983 %", "83 %", "17 %", "20,000", "4,000", "90", "40"]


def test_idle_members_are_money_if_a_member_has_a_cost():
    title = "Members without a partition"
    assert cells(shown(sample()), title)[0] == ["checkout-enricher", "168", "33 %", "100"]
    html = shown(sample(), member_cost=member_cost("0.5EUR"))
    assert cells(html, title)[0] == ["checkout-enricher", "168", "33 %", "84.00 EUR", "100"]
    assert "<dd>90.25 EUR</dd>" in html


def test_limits_name_the_wait_and_the_skew():
    assert cells(shown(sample()), "Consumer groups near a limit") == [
        ["checkout-notifier", "rebalance timeout", "4.2 min of 5.0 min", "2 rebalances"],
        ["audit-sink", "skew", "2.40", "31 h"],
    ]


def test_recommended_changes_have_their_saving_beside_the_prediction():
    rows = cells(shown(sample()), "Recommended changes")
    sticky, dash = "use cooperative-sticky", "\N{EN DASH}"
    missed = "made on 24 May, saved less than predicted"
    assert rows == [
        ["billing.sink", sticky, "made on 19 May", "8,000 (7,200 to 8,800)", "8,500 (7,650 to 9,350)"],
        ["audit-sink", "static members", missed, "90 (81 to 99)", "4.0 (3.6 to 4.4)"],
        ["checkout-notifier", sticky, "recommended on 30 Mar", "12,000 (10,800 to 13,200)", dash],
        ["checkout-enricher", "static members", "recommended on 30 Mar", dash, dash],
        ["payments", sticky, "recommended on 30 Mar, not made in four weeks", "35 (32 to 38)", dash],
    ]


def test_a_withheld_change_has_its_reason():
    row = advised("g", "withheld", predicted=35.0, reason="it saved less than predicted in 3 of the 4 groups")
    back = advised("h", "taken_back", taken_at=WEEK.start, ended_at=WEEK.end, realised=-3.0)
    rows = cells(shown(sample(advice=(row, back))), "Recommended changes")
    assert [row[2] for row in rows] == [
        "made on 8 Jun, undone on 15 Jun",
        "no longer recommended: it saved less than predicted in 3 of the 4 groups",
    ]
    assert rows[0][4] == "-3.0 (-3.3 to -2.7)"


def test_without_a_week_before_its_sections_and_columns_are_left_out():
    html = shown(sample(first=WEEK.start))
    Markup(html)
    assert titles(html) == [part for part in PARTS if part not in COMPARED]
    assert "so there is no comparison" in html
    assert "last week" not in html
    assert "compared with 1 to 7" not in html
    assert cells(html, "Members without a partition")[0] == ["checkout-enricher", "168", "33 %"]


def test_a_quiet_week_is_a_valid_page():
    html = shown(
        sample(groups=(group("g", totals()),), flappers=(), skews=(), timeouts=(), advice=(), days=(0.0,) * 14)
    )
    Markup(html)
    for words in (
        "No partition was stalled.",
        "No deploy was detected.",
        "No member began to flap.",
        "No change was recommended.",
    ):
        assert words in html
    Markup(shown(sample(groups=(), flappers=(), skews=(), timeouts=())))


def test_names_never_become_markup_and_nothing_is_requested():
    groups = tuple(
        dataclasses.replace(each, group=f"{EVIL}{number}", cluster_id=EVIL)
        for number, each in enumerate(sample().groups)
    )
    html = shown(
        sample(
            groups=groups,
            flappers=(FlapperRow(EVIL, EVIL, EVIL, 1, 0),),
            skews=(SkewRow(EVIL, EVIL, 2.0, 1),),
            timeouts=(TimeoutRow(EVIL, EVIL, 2.0, 3.0, 1, EVIL),),
            advice=(advised(EVIL, "withheld", EVIL, reason=EVIL),),
        )
    )
    markup = Markup(html)
    assert markup.seen.count("script") == 1
    assert not [link for link in markup.links if not link.startswith("#")]
    assert not re.findall(r"(?:url\(|@import|https?://)", html)
    assert "\x00" not in html
    assert "\u202e" not in html


@pytest.mark.parametrize("number", [1, 99])
def test_long_lists_are_cut_and_name_the_file_with_the_rest(number):
    groups = tuple(group(f"g{i}", totals(i + 1, deploys=1, idle=9.0)) for i in range(number))
    html = shown(sample(groups=groups))
    assert ("89 more are in weekly-groups.csv." in html) is (number > 10)
    assert ("91 more are in weekly-idle.csv." in html) is (number > 10)
    assert len(html) < 60_000
