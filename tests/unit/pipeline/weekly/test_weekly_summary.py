"""The weekly page compares two weeks, and shows nothing about a week without data in the tables."""

from __future__ import annotations

import dataclasses
import datetime as dt
import re

import pytest

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.pipeline.weekly.week_settings import NO_TEAM, WeekSettings, member_cost, team_rule
from rebalance_agent.pipeline.weekly.weekly_csv import csv_tables
from rebalance_agent.pipeline.weekly.weekly_rows import WeekTotals
from rebalance_agent.pipeline.weekly.weekly_summary import summarize
from rebalance_agent.pipeline.weekly.weekly_text import text
from support.pipeline.weeks import WEEK, WEEK_S, advised, group, sample, totals

HOUR = dt.timedelta(hours=1)


def names(groups):
    return [each.group for each in groups]


def test_both_weeks_are_sums_over_all_groups():
    summary = summarize(sample(), WeekSettings(slo=0.99))
    assert summary.this.stalled_partition_seconds == 21_370
    assert summary.before.stalled_partition_seconds == 14_800
    assert summary.this.partition_seconds == (40 + 24 + 12 + 6 + 6) * WEEK_S
    assert summary.this.availability == 1 - 21_370 / (88 * WEEK_S)
    assert summary.this.budget_used(0.99) == pytest.approx(21_370 / (88 * WEEK_S * 0.01))
    assert (summary.this.deploys, summary.this.deploy_rebalances, summary.this.rebalances) == (6, 12, 123)


def test_without_partitions_nothing_is_known_about_availability():
    nothing = WeekTotals(stalled_partition_seconds=1.0)
    assert (nothing.availability, nothing.budget_used(0.9)) == (None, None)
    assert WeekTotals(1.0, deploy_stalled_partition_seconds=2.0).deploy_share == 1
    assert WeekTotals().deploy_share == 0


def test_groups_that_moved_are_those_whose_stall_changed_most():
    summary = summarize(sample(), WeekSettings())
    assert names(summary.up) == ["checkout-notifier", "payments"]
    assert names(summary.down) == ["billing.sink", "checkout-enricher"]
    assert names(summary.groups) == ["checkout-notifier", "checkout-enricher", "billing.sink", "payments", "audit-sink"]
    many = tuple(group(f"g{number}", totals(number)) for number in range(9))
    assert names(summarize(sample(groups=many), WeekSettings()).up) == ["g8", "g7", "g6", "g5", "g4"]


def test_deploys_are_summed_by_team():
    teams = summarize(sample(), WeekSettings()).teams
    assert [(each.team, each.groups, each.this.deploys, each.before.deploys) for each in teams] == [
        ("checkout", 2, 5, 3),
        ("billing", 1, 1, 4),
    ]
    assert teams[0].this.deploy_stalled_partition_seconds == 9_500
    ruled = summarize(sample(), WeekSettings(team_rule=team_rule(r"-(\w+)"))).teams
    assert [each.team for each in ruled] == ["notifier", "enricher", NO_TEAM]


def test_an_empty_match_is_no_team():
    assert WeekSettings(team_rule=team_rule("^(x*)")).team_of("a") == NO_TEAM
    assert WeekSettings().team_of("-a") == NO_TEAM


def test_flapping_members_are_new_if_they_did_not_flap_the_week_before():
    found = summarize(sample(), WeekSettings()).flappers
    assert [(each.key[1], [row.name for row in each.members], each.before) for each in found] == [
        ("billing.sink", ["sink-0", "sink-1"], 0),
        ("checkout-notifier", ["notifier-2"], 1),
    ]


def test_only_members_without_a_partition_for_some_minutes_are_listed():
    idle = sample(groups=(group("a", totals(idle=0.09)), group("b", totals(idle=0.1)), group("c", totals(idle=3.0))))
    summary = summarize(idle, WeekSettings())
    assert names(summary.idle) == ["c", "b"]
    assert summary.this.idle_member_hours == pytest.approx(3.19)


def test_without_a_week_before_nothing_is_compared():
    summary = summarize(sample(first=WEEK.start), WeekSettings())
    assert (summary.before, summary.up, summary.down, summary.flappers) == (None, (), (), ())
    assert summary.notes == ("The tables have no data for the week before, so there is no comparison.",)
    assert "(" not in text(summary).splitlines()[2].replace("(objective", "")
    rows = csv_tables(summary)["groups"].rows
    assert not any(name.endswith("_before") for row in rows for name in row)
    assert len(csv_tables(summary)["all"].rows) == 1


@pytest.mark.parametrize(
    ("changes", "notes"),
    [
        ({}, []),
        ({"first": WEEK.before.start}, []),
        (
            {"first": WEEK.before.start + HOUR},
            ["The week before is incomplete: the tables begin at 2026-06-01 01:00 UTC."],
        ),
        ({"end": WEEK.end - HOUR}, ["This week is incomplete: the tables end at 2026-06-14 23:00 UTC."]),
        (
            {"first": WEEK.start + HOUR},
            [
                "The tables have no data for the week before, so there is no comparison.",
                "This week is incomplete: the tables begin at 2026-06-08 01:00 UTC.",
            ],
        ),
    ],
)
def test_incomplete_weeks_are_named(changes, notes):
    assert list(summarize(sample(**changes), WeekSettings()).notes) == notes


@pytest.mark.parametrize("rule", ["(", "a", "(a)(b)"])
def test_a_rule_without_one_group_is_refused(rule):
    with pytest.raises(InvalidInputError, match="--team-rule"):
        team_rule(rule)


@pytest.mark.parametrize(
    ("cost", "words"),
    [
        ("0.12EUR", "20.16 EUR"),
        ("0.12 EUR", "20.16 EUR"),
        ("10EUR", "1,680 EUR"),
        ("1$", "168.00 $"),
        ("2£", "336.00 £"),
    ],
)
def test_a_member_costs_an_amount_an_hour(cost, words):
    assert member_cost(cost).text(168) == words.replace(" ", "\N{NO-BREAK SPACE}")


@pytest.mark.parametrize("cost", ["", "EUR", "0.12", "-1EUR", "1,2EUR", "1e9EUR", "nanEUR", "0.12 Euro"])
def test_a_cost_without_amount_or_currency_is_refused(cost):
    with pytest.raises(InvalidInputError, match="must be an amount an hour and a currency"):
        member_cost(cost)


def test_every_table_has_only_its_columns():
    tables = csv_tables(summarize(sample(), WeekSettings(member_cost=member_cost("1EUR"))))
    assert [*tables] == ["all", "groups", "movers", "deploys", "flapping", "idle", "limits", "advice"]
    for name, table in tables.items():
        assert table.rows, name
        assert {*table.columns} == {column for row in table.rows for column in row}, name
    assert tables["idle"].rows[0]["cost"] == 168.0


def test_a_text_is_short_and_has_only_lines_about_what_occurred():
    many = sample(
        groups=tuple(group(f"{'g' * 300}{number}", totals(number, deploys=1, idle=9.0)) for number in range(99)),
        first=WEEK.before.start + HOUR,
        end=WEEK.end - HOUR,
    )
    lines = text(summarize(many, WeekSettings())).splitlines()
    assert len(lines) <= 15
    assert max(map(len, lines)) < 700
    quiet = sample(groups=(group("g", totals()),), flappers=(), skews=(), timeouts=(), advice=())
    assert len(text(summarize(quiet, WeekSettings())).splitlines()) == 3


def test_names_cannot_add_lines_to_a_text():
    evil = "a\nb\u202e\x1b[2J"
    rows = sample(
        groups=tuple(dataclasses.replace(each, group=evil, cluster_id=str(i)) for i, each in enumerate(sample().groups))
    )
    shown = text(summarize(rows, WeekSettings()))
    assert not re.search("[\x1b\u202e]", shown)
    assert r"a\nb\u202e" in shown


def test_the_text_sums_up_the_recommended_changes():
    (line,) = (line for line in text(summarize(sample(), WeekSettings())).splitlines() if "Recommended" in line)
    assert line == (
        "Recommended changes: 2 made (saved 8,504 partition-seconds per week, predicted 8,090); "
        "2 not made yet (would save 12,000 partition-seconds per week); "
        "1 not made in four weeks (would save 35 partition-seconds per week)"
    )
    withheld = advised("g", "withheld", predicted=35.0, reason="of it")
    assert "Recommended changes: 1 no longer recommended\n" in text(
        summarize(sample(advice=(withheld,)), WeekSettings())
    )
