"""The report's page is complete, contains no external markup, and stays small."""

from __future__ import annotations

import base64
import dataclasses
import datetime as dt
import functools
import hashlib
import re

import pytest

from rebalance_agent.model.episode import Trigger
from rebalance_agent.pipeline.recommendations.advice_sums import AdviceSums
from rebalance_agent.pipeline.report.report_page import page
from rebalance_agent.pipeline.report.report_rows import (
    DETAILS_MAX,
    EPISODES_MAX,
    GROUPS_MAX,
    OWNERS_MAX,
    BaselineRow,
    ChangeRow,
    CostRow,
    DeployRow,
    EpisodeRow,
    GroupRow,
    OwnersRow,
    ReportData,
    ReportGroup,
    StormRow,
    WeekRow,
    WhatIfRow,
)
from rebalance_agent.testing.synthetic.fleet_plan import FleetPlan
from support.pipeline.markup import Markup
from support.pipeline.reports import report_of
from support.pipeline.weeks import advised

FLEET = FleetPlan(groups=6, days=2, seed=4)
SINCE = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
EVIL = "<script>alert(1)</script>\"'&\u202e\x00"
PICTURES = (
    "What rebalances cost, over time",
    "Why groups rebalance",
    "When partitions stall",
    "Storms",
    "What deploys cost",
    "Stall by phase",
    "Partitions by member",
    "Skew",
    "What if: stall",
    "What if: moves",
    "What is normal",
)


@functools.cache
def synthetic():
    return report_of(FLEET, details=3)


def evil_report():
    key = (EVIL, EVIL)
    row = GroupRow(
        *key,
        group_type=EVIL,
        protocol=EVIL,
        assignor=EVIL,
        members=1,
        partitions=1,
        rebalances=1,
        stalled_partition_seconds=1.0,
        trigger=EVIL,
        flapping=(EVIL,),
        costs=(1.0,),
        recommended=EVIL,
        sentence=EVIL,
    )
    detail = ReportGroup(
        key,
        episodes=(EpisodeRow(1, SINCE, EVIL, 1.0, 0.1, None, None, 1.0, None, 1.5, EVIL),),
        owners=(OwnersRow(1, SINCE, EVIL, {EVIL: 3}),),
        whatif=(WhatIfRow(EVIL, 1, None, 1, 1.0, 1.0, 1, 1.0), WhatIfRow(EVIL, 1, EVIL)),
        baselines=(BaselineRow(1, 1, 1.0),),
        changes=(ChangeRow(EVIL),),
    )
    return ReportData(
        since=SINCE,
        until=SINCE + dt.timedelta(1),
        period_seconds=3600,
        groups=(row,),
        costs=(CostRow(0, EVIL, 1, 1.0),),
        week=(WeekRow(0, 1, 1.0),),
        storms=(StormRow(*key, SINCE, 9),),
        deploys=(DeployRow(*key, SINCE, SINCE, 1, 1.0),),
        details=(detail,),
    )


def test_every_chart_is_present():
    text = page(synthetic())
    markup = Markup(text)
    for title in PICTURES:
        assert f"<h3>{title}</h3>" in text
    assert markup.seen.count("figure") == 5 + 6 * 3
    assert len(markup.ids) == len(set(markup.ids))
    assert {each.removeprefix("#") for each in markup.links} <= {*markup.ids}


def test_advice_is_not_cut_off():
    report, sentence = evil_report(), "Two rolling restarts, and each second of the stop costs 112. " * 20
    row = dataclasses.replace(report.groups[0], sentence=sentence.strip())
    assert sentence.strip() in page(dataclasses.replace(report, groups=(row,)))


def test_the_latest_changes_of_a_group_are_listed():
    report = evil_report()
    changes = tuple(ChangeRow(f"Stall doubled {number} times.") for number in range(10))
    detail = dataclasses.replace(report.details[0], changes=changes)
    text = page(dataclasses.replace(report, details=(detail,)))
    assert re.findall(r"<li>Stall doubled (\d) times", text) == list("23456789")
    assert 'class="changes"' not in page(synthetic())


def test_what_became_of_recommendations_is_listed_except_those_that_are_open():
    report = report_of(FLEET)
    detail = dataclasses.replace(
        report.details[0],
        advice=(
            advised(EVIL, "taken", predicted=90.0, realised=-4.0, taken_at=SINCE, missed=True),
            advised("g", "open", "range", predicted=7.0),
        ),
    )
    html = page(dataclasses.replace(report, details=(detail, *report.details[1:])))
    Markup(html)
    assert (
        "<li>Use cooperative-sticky: made on 1 Jun, saved less than predicted; saved partition-seconds per week: "
        "-4.0 (-4.4 to -3.6); predicted: 90 (81 to 99).</li>"
    ) in html.replace("\N{NO-BREAK SPACE}", " ")
    assert "Use range" not in html


def test_measured_savings_are_a_key_figure():
    report = report_of(FLEET)
    assert "saved per week" not in page(report)
    assert "saved per week" not in page(dataclasses.replace(report, taken=AdviceSums(number=2)))
    html = page(dataclasses.replace(report, taken=AdviceSums(number=3, measured=2, realised=90.0)))
    assert "<dt>saved per week</dt>" in html
    assert "by 2 recommended changes that groups made" in html


def test_the_page_requests_nothing_from_a_network():
    text = page(synthetic())
    assert not [each for each in Markup(text).links if not each.startswith("#")]
    assert not re.findall(r"(?:url\(|@import|https?://)", text)


def test_names_are_shown_and_never_become_markup():
    text = page(evil_report())
    markup = Markup(text)
    assert markup.seen.count("script") == 1
    assert "<script>alert" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#x27;&amp;" in text
    assert "\x00" not in text
    assert "\u202e" not in text


def test_only_the_pages_own_script_may_run():
    text = page(evil_report())
    script = re.search(r"<script>(.*)</script></body>", text, re.DOTALL)[1]
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    assert "default-src 'none'" in policy
    assert re.findall("script-src [^;]*", policy) == [f"script-src 'sha256-{digest}'"]


def test_a_report_with_little_data_is_a_valid_page():
    row = GroupRow("c", "g", "share", "cooperative", None, 0, 0, 0, 0.0)
    bare = ReportData(SINCE, SINCE + dt.timedelta(1), 3600, (row,), details=(ReportGroup(("c", "g")),))
    text = page(bare)
    Markup(text)
    assert "No deploy was detected." in text
    assert "This group was not replayed." in text
    Markup(page(ReportData(SINCE, SINCE, 3600, ())))


def test_the_same_rows_give_the_same_page():
    assert page(synthetic()) == page(synthetic())


@pytest.mark.parametrize(
    ("lower", "upper", "words"),
    [
        (9.0, 9.0, "9.0 s"),
        (0.2, 9.0, "200 ms - 9.0 s"),
        (0.0, 9.0, "up to 9.0 s"),
        (9.0, None, "9.0 s or more"),
        (None, None, "\N{EN DASH}"),
    ],
)
def test_a_stall_is_shown_with_both_bounds(lower, upper, words):
    row = GroupRow("c", "g", "classic", "cooperative", None, 1, 0, 0, 1.0)
    episode = EpisodeRow(1, SINCE, "rejoin", 1.0, 0.1, None, None, lower, upper)
    report = ReportData(SINCE, SINCE, 3600, (row,), details=(ReportGroup(("c", "g"), episodes=(episode,)),))
    text = page(report).replace("\N{NO-BREAK SPACE}", " ")
    assert f">{words}</td>" in text
    assert (f", stall {words}" in text) is (lower is not None)


def test_the_wait_for_the_assignor_is_a_phase():
    row = GroupRow("c", "g", "consumer", "cooperative", None, 1, 0, 0, 1.0)
    waits = (None, 3.0)
    pages = [
        page(ReportData(SINCE, SINCE, 3600, (row,), details=(ReportGroup(("c", "g"), episodes=(episode,)),)))
        for episode in (EpisodeRow(1, SINCE, "rejoin", None, None, wait, 1.0, 4.0) for wait in waits)
    ]
    assert ["assignor wait phase" in text for text in pages] == [False, True]
    assert ['class="p-assignor-wait"' in text for text in pages] == [False, True]
    assert "assignor wait 3.0\N{NO-BREAK SPACE}s" in pages[1]


def test_numbers_are_reported_in_tables_as_well():
    text = page(synthetic())
    worst = synthetic().groups[0]
    assert text.count("as a table") >= 5
    assert f'data-v="{worst.stalled_partition_seconds:.6g}"' in text
    assert 'data-sort="number"' in text


@pytest.mark.no_cover  # many times over what others count
def test_a_fleet_of_two_thousand_groups_stays_below_twenty_megabytes():
    day = dt.timedelta(1)
    names = [f"{'a-rather-long-name-of-a-group-' * 3}{number}" for number in range(2_000)]
    rows = tuple(
        GroupRow(
            "cluster",
            name,
            "classic",
            "eager",
            "range",
            60,
            600,
            9_999,
            1e6 - number,
            partition_seconds=1e9,
            trigger="member_joined",
            costs=tuple(float(each % 7) for each in range(90)),
            sentence="word " * 100,
            recommended="cooperative-sticky",
        )
        for number, name in enumerate(names)
    )
    members = [f"{'consumer-with-a-long-name-' * 2}{number}" for number in range(100)]
    details = tuple(
        ReportGroup(
            row.key,
            episodes=tuple(
                EpisodeRow(
                    each, SINCE + each * day / 4, "member_joined", 1.0, 1.0, None, 1.0, 9.0, 20.0, 1.0 + each / 9
                )
                for each in range(2 * EPISODES_MAX)
            ),
            owners=tuple(
                OwnersRow(
                    each, SINCE + each * day / 4, "rejoin", {name: place % 11 for place, name in enumerate(members)}
                )
                for each in range(2 * OWNERS_MAX)
            ),
            whatif=tuple(WhatIfRow(f"strategy-{each}", 9, None, each, 1.0, float(each), 9, 9.0) for each in range(40)),
            baselines=tuple(BaselineRow(hour, 9, 1.0, 2.0) for hour in range(168)),
        )
        for row in rows[: DETAILS_MAX + 5]
    )
    report = ReportData(
        SINCE,
        SINCE + 90 * day,
        86_400,
        rows,
        tuple(CostRow(period, each.value, 9, 9.0) for period in range(90) for each in Trigger),
        tuple(WeekRow(hour, 9, 9.0) for hour in range(168)),
        tuple(StormRow("cluster", names[each % 50], SINCE + each * day / 99, 9) for each in range(5_000)),
        tuple(DeployRow("cluster", name, SINCE, SINCE, 9, 9.0) for name in names),
        details,
        groups_in_all=2_500,
    )
    text = page(report)
    assert len(text.encode()) < 20_000_000
    assert "500 groups with less stall are not shown." in text
    assert text.count('class="group"') == DETAILS_MAX


def test_too_many_groups_for_a_page_are_refused():
    row = GroupRow("c", "g", "share", "cooperative", None, 0, 0, 0, 0.0)
    many = tuple(dataclasses.replace(row, group=str(number)) for number in range(GROUPS_MAX + 1))
    with pytest.raises(ValueError, match="at most"):
        page(ReportData(SINCE, SINCE, 3600, many))


def test_several_clusters_are_distinguished():
    row = GroupRow("one", "g", "share", "cooperative", None, 0, 0, 0, 0.0)
    both = (row, dataclasses.replace(row, cluster_id="two"))
    text = page(ReportData(SINCE, SINCE, 3600, both, details=(ReportGroup(row.key),)))
    assert "g @ one" in text
    assert "g @ two" in text
