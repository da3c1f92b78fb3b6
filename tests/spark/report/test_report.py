"""The report's rows come from the tables: Spark's sums are the sums of the events."""

from __future__ import annotations

import datetime as dt

import pytest
from pyspark.sql import functions as F  # noqa: N812

from rebalance_agent.model.events import AssignEvent, MemberEvent
from rebalance_agent.pipeline.errors import PipelineError
from rebalance_agent.pipeline.report.queries.collect import collect
from rebalance_agent.pipeline.report.report_page import page
from rebalance_agent.pipeline.report.report_rows import OWNERS_MAX
from rebalance_agent.testing.synthetic.fleet_plan import FleetPlan
from rebalance_agent.testing.synthetic.synthetic_history import history
from support.pipeline.held_tables import Held
from support.pipeline.latest_events import latest
from support.pipeline.reports import report_of

FLEET = FleetPlan(groups=5, days=1, seed=4)
PREDICTED = {"recorded_stalled_partition_seconds": 10.0, "modelled_stalled_partition_seconds": 40.0}
SAVED = {"realised": 8.0, "realised_low": 7.0, "realised_high": 9.0}
MADE_AT = dt.datetime(2026, 6, 9, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def filled(spark):
    held = Held(spark)
    reported = [each for number in range(FLEET.groups) for each in latest(history(FLEET, number))]
    held.fill([each for each in reported if not isinstance(each, MemberEvent | AssignEvent)])
    cluster_id, group = report_of(FLEET).groups[0].key
    key = {"cluster_id": cluster_id, "group": group}
    held.rows(
        "whatif",
        {**key, "strategy": "range", "protocol": "eager", "generations": 9, "moved": 7, **PREDICTED},
        {**key, "strategy": "failover", "protocol": "eager", "generations": 0, "refused": "no priorities"},
    )
    advice = {"strategy": "range", "static_membership": True, "saved_partition_seconds": 5.0, "sentence": "do it"}
    held.rows("recommendations", {**key, **advice})
    advised = {**key, "kind": "strategy", "strategy": "range", "given_at": MADE_AT, "last_given_at": MADE_AT}
    held.rows("advice", {**advised, "advice_id": "1", "state": "taken", "taken_at": MADE_AT, **SAVED})
    hour = {"hour_of_week": 3, "scope": "hour_of_week", "samples": 9, "stall_p50": 1.0, "computed_at": MADE_AT}
    held.rows("baselines", {**key, **hour})
    yield held
    held.close()


def test_rows_are_the_sums_of_events(filled):
    reported, expected = collect(filled, MADE_AT), report_of(FLEET)
    assert [each.key for each in reported.groups] == [each.key for each in expected.groups]
    for mine, theirs in zip(reported.groups, expected.groups, strict=True):
        for name in (
            "group_type",
            "protocol",
            "assignor",
            "members",
            "partitions",
            "rebalances",
            "skew_max",
        ):
            assert getattr(mine, name) == getattr(theirs, name), name
        assert mine.stalled_partition_seconds == pytest.approx(theirs.stalled_partition_seconds)
        assert sum(mine.costs) == pytest.approx(theirs.stalled_partition_seconds)
        assert 0 < mine.availability <= 1
    assert sum(each.rebalances for each in reported.costs) == sum(each.rebalances for each in reported.groups)
    by_hour = {
        each.hour_of_week: (each.rebalances, pytest.approx(each.stalled_partition_seconds)) for each in expected.week
    }
    assert {each.hour_of_week: (each.rebalances, each.stalled_partition_seconds) for each in reported.week} == by_hour
    assert reported.since == expected.since
    assert expected.until - dt.timedelta(hours=2) <= reported.until <= expected.until
    assert reported.period_seconds == 3_600
    assert reported.groups_in_all == len(reported.groups)


def test_pictures_show_the_worst_groups(filled):
    reported, expected = collect(filled, MADE_AT, details=2), report_of(FLEET, details=2)
    assert [each.key for each in reported.details] == [each.key for each in expected.details]
    for mine, theirs in zip(reported.details, expected.details, strict=True):
        assert mine.episodes == theirs.episodes
        assert [each.generation for each in mine.owners] == [each.generation for each in theirs.owners]
        assert [sum(each.partitions.values()) for each in mine.owners] == [
            sum(each.partitions.values()) for each in theirs.owners
        ]
    assert {each.strategy: each.refused for each in reported.details[0].whatif} == {
        "range": None,
        "failover": "no priorities",
    }
    assert [each.hour_of_week for each in reported.details[0].baselines] == [3]
    worst = reported.groups[0]
    assert (worst.recommended, worst.static_membership, worst.sentence) == ("range", True, "do it")
    assert worst.saved_partition_seconds == 5.0 * 10.0 / 40.0, "of the recorded stall"
    assert (reported.taken.number, reported.taken.realised) == (1, 8.0)


@pytest.mark.parametrize("most", [1, 50])
def test_a_group_with_very_many_members_has_fewer_generations(filled, monkeypatch, most):
    monkeypatch.setattr("rebalance_agent.pipeline.report.queries.detail_rows.OWNERS_MEMBERS_MAX", most)
    (reported,) = collect(filled, MADE_AT, details=1).details
    rows = filled.read("generations").where("member_count > 0").where(F.col("group") == reported.key[1])
    newest = rows.orderBy(F.desc("completed_at"), F.desc("generation")).select("generation", "member_count").collect()
    wanted, so_far = [], 0
    for generation, members_of_it in newest[:OWNERS_MAX]:
        so_far += members_of_it
        if wanted and so_far > most:
            break
        wanted.append(generation)
    assert [each.generation for each in reversed(reported.owners)] == wanted
    assert len(wanted) < min(len(newest), OWNERS_MAX)


def test_deploys_and_storms_are_those_of_the_tables(filled):
    reported = collect(filled, MADE_AT)
    deploys = filled.read("generations").where("rollout IS NOT NULL AND closes_episode")
    assert len(reported.deploys) == reported.deploys_in_all == deploys.select("rollout").distinct().count() > 0
    assert sum(each.rebalances for each in reported.deploys) == deploys.count()
    assert len(reported.storms) == filled.read("group_hours").where("storms > 0").count()


def test_a_generation_after_the_report_was_made_does_not_prolong_it(filled):
    held = Held(filled.spark)
    held.frames |= filled.frames
    rows = filled.read("generations")
    ahead = F.lit(MADE_AT + dt.timedelta(days=25_000))
    held.frames["generations"] = rows.unionByName(rows.limit(1).withColumn("completed_at", ahead))
    assert collect(held, MADE_AT) == collect(filled, MADE_AT)


def test_the_page_is_rendered_from_the_rows(filled):
    text = page(collect(filled, MADE_AT, details=1))
    assert "made 2026-06-09 00:00" in text
    assert "do it" in text
    assert "<dd>8.0\N{NO-BREAK SPACE}s</dd>" in text
    assert "Use range: made on 9 Jun; saved partition-seconds per week: 8.0 (7.0 to 9.0)." in text


def test_a_withheld_recommendation_is_replaced_by_the_reason(filled):
    (group,) = filled.read("recommendations").collect()
    key = {"cluster_id": group["cluster_id"], "group": group["group"]}
    given = {**key, "given_at": MADE_AT, "last_given_at": MADE_AT, "state": "withheld", "reason": "it saved too little"}
    held = Held(filled.spark)
    held.frames |= filled.frames
    held.rows("advice", {**given, "advice_id": "1", "kind": "strategy", "strategy": "range"})
    worst = collect(held, MADE_AT).groups[0]
    assert worst.sentence == "A change is no longer recommended: it saved too little."
    assert (worst.recommended, worst.static_membership, worst.saved_partition_seconds) == (None, True, None)
    held.rows("advice", {**given, "advice_id": "2", "kind": "static_membership"})
    worst = collect(held, MADE_AT).groups[0]
    assert (worst.recommended, worst.static_membership) == ("range", False)


def test_without_generations_there_is_no_report(spark):
    with pytest.raises(PipelineError, match="pipeline aggregate"):
        collect(Held(spark), MADE_AT)
