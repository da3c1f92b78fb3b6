"""Every figure of the weekly page is the same as plain Python computes it from the events of two weeks."""

from __future__ import annotations

import dataclasses
import datetime as dt

import pytest

from rebalance_agent.model.episode import Source
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.group import GroupType, StreamsMember
from rebalance_agent.model.group_event import event_id
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.pipeline.errors import PipelineError
from rebalance_agent.pipeline.weekly.queries.collect_week import collect_week
from rebalance_agent.pipeline.weekly.weekly_rows import SkewRow, TimeoutRow
from rebalance_agent.pipeline.weekly.weeks import Week
from support.pipeline.event_rows import HOUR_MS, MONDAY_MS, generation, gone, member, random_history
from support.pipeline.held_tables import Held
from support.pipeline.weekly_aggregates import DAY_MS, weekly_rows

WEEK = Week(dt.datetime.fromtimestamp(MONDAY_MS / 1000, dt.UTC) + dt.timedelta(7))
THIS = MONDAY_MS + 7 * DAY_MS
MADE_AT = dt.datetime(2024, 1, 15, 7, tzinfo=dt.UTC)
MEMBERS = [member("a", (0, 1)), member("b", (2, 3)), member("c")]
STREAMS = {"group_type": GroupType.STREAMS, "assignor": None}


ADVISED = {
    "cluster_id": "c", "kind": "strategy", "strategy": "sticky", "given_at": WEEK.start, "last_given_at": WEEK.start,
}  # fmt: skip
ADVICE = [
    {**ADVISED, "advice_id": "1", "group": "small", "state": "open", "predicted": 3.0},
    {**ADVISED, "advice_id": "2", "group": "large", "state": "taken", "predicted": 1.0, "realised": 9.0},
    {**ADVISED, "advice_id": "3", "group": "gone", "state": "withdrawn"},
    {**ADVISED, "advice_id": "4", "group": "skewed", "state": "open", "kind": "static_membership", "strategy": None},
]
CHANGED = {"cluster_id": "c", "group": "midnight", "beside": {}, "recovery": False, "sentence": "", "chance": 0.0}
CHANGES = [
    {**CHANGED, "signal": signal, "changed_at": WEEK.start + dt.timedelta(hours=hours), "ratio": ratio,
     "level_before": 1.0, "level_after": ratio}
    for signal, hours, ratio in (
        *(("stall", -1, 9.0), ("stall", 0, 2.0), ("frequency", 167, 0.2)), ("frequency", 168, 9.0), ("skew", 5, 3.0)
    )
]  # fmt: skip


def rollout(of, first, last):
    """A deploy that spans two of these events."""
    name, started_ms = of[0].group, of[first].timestamp_ms - 1_000
    return RolloutEvent(
        event_id("rollout", "c", name, of[0].group_type, of[first].generation, started_ms),
        *("c", name, of[last].timestamp_ms, Source.RECORDS, of[0].group_type),
        started_ms,
        of[first].generation,
        of[last].generation,
        *(True, last - first + 1, 3, 3, 1.0),
    )


def random_groups():
    for number in range(10):
        events = list(random_history(number, group=f"random-{number}", hours=13 * 24))
        yield from events
        of_group = [event for event in events if isinstance(event, GenerationEvent)]
        if len(of_group) > 8:
            yield rollout(of_group, 1, 4)
            yield rollout(of_group, 6, 6)


def with_tasks(**copies):
    """`MEMBERS` of a streams group; the member without active tasks has these copies, and leaves last."""
    tasks = [{"active": {"0": (0, 1)}}, {"active": {"0": (2, 3)}}, copies]
    return [
        dataclasses.replace(each, streams=StreamsMember(each.member_id, **kinds))
        for each, kinds in zip(MEMBERS, tasks, strict=True)
    ]


def known_groups():
    """Groups in which a figure depends on a border of the week, or on what kind of group it is."""
    usual = {"stall": (120.0, 240.0), "moved": 1}
    over = [
        generation(THIS + index * 60_000, index + 9, MEMBERS, group="midnight", **usual) for index in (-5, -1, 1, 2)
    ]
    yield from over
    yield rollout(over, 0, 2)
    for name, members, more in (
        ("idle", MEMBERS, {}),
        ("standbys", MEMBERS, {"assignor": "failover"}),
        ("streams of an earlier release", MEMBERS, STREAMS),
        ("streams with a standby", with_tasks(standby={"0": (0,)}), STREAMS),
        ("streams without standbys", with_tasks(), STREAMS),
        ("connect", [member("a"), member("b")], {"topics": {}}),
    ):
        yield generation(THIS - 30 * HOUR_MS, 1, members, group=name, **more)
        yield generation(THIS + 10 * HOUR_MS, 2, members[:2], group=name, **more)
        yield gone(THIS + 20 * HOUR_MS, group=name)
    slow = [member("s", (0, 1), rebalance_timeout_ms=300_000), member("t", rebalance_timeout_ms=60_000)]
    for number, waited in enumerate((149.0, 150.0, 290.0)):
        late = {"slowest_member_id": "s", "slowest_lower_seconds": waited, "slowest_seconds": waited + 5}
        yield generation(THIS + number * HOUR_MS, number + 1, slow, group="slow", **late)
    yield generation(THIS, 1, MEMBERS, group="skewed", skew_ratio=1.51)
    yield generation(THIS + 90 * 60_000, 2, MEMBERS, group="skewed", skew_ratio=1.5)


@pytest.fixture(scope="module")
def events():
    return [*random_groups(), *known_groups(), gone(THIS + 7 * DAY_MS - 1, group="last")]


@pytest.fixture(scope="module")
def filled(spark, events):
    held = Held(spark)
    held.fill(events)
    held.rows("advice", *ADVICE)
    held.rows("changes", *CHANGES)
    yield held
    held.close()


@pytest.fixture(scope="module")
def collected(filled):
    return collect_week(filled, WEEK, MADE_AT)


def approximately(totals):
    return {name: pytest.approx(value) for name, value in dataclasses.asdict(totals).items()}


def test_every_figure_is_that_of_the_events(collected, events):
    expected = weekly_rows(events, WEEK, MADE_AT)
    theirs = {group.key: group for group in expected.groups}
    mine = {group.key: group for group in collected.groups}
    assert mine.keys() == theirs.keys()
    for key, group in mine.items():
        for week in ("this", "before"):
            assert dataclasses.asdict(getattr(group, week)) == approximately(getattr(theirs[key], week)), (key, week)
        assert group.costliest_deploy_at == theirs[key].costliest_deploy_at, key
    assert collected.days == pytest.approx(expected.days)
    for name in ("week", "first", "end", "flappers", "skews", "timeouts", "made_at"):
        assert getattr(collected, name) == getattr(expected, name), name


def test_recommended_changes_are_read_with_the_largest_savings_first(collected):
    assert [(row.group, row.state, row.realised) for row in collected.advice] == [
        ("large", "taken", 9.0),
        ("small", "open", None),
        ("skewed", "open", None),
    ]
    assert {row.given_at for row in collected.advice} == {WEEK.start}


def test_change_points_of_the_week_are_read_except_those_of_the_skew(collected):
    found = [(row.signal, row.changed_at, row.ratio) for row in collected.changes]
    assert found == [
        ("frequency", WEEK.start + dt.timedelta(hours=167), 0.2),
        ("stall", WEEK.start, 2.0),
    ]


def test_the_history_has_every_kind_of_figure(collected):
    for week in ("this", "before"):
        for field in dataclasses.fields(collected.groups[0].this):
            assert any(getattr(getattr(group, week), field.name) for group in collected.groups), (week, field.name)
    assert any(row.hours and not row.hours_before for row in collected.flappers)
    assert any(row.hours_before for row in collected.flappers)
    assert sum(map(bool, collected.days)) > 9


def test_the_border_of_the_week_divides_stalls_deploys_and_idle_time(collected):
    found = {group.group: group for group in collected.groups}
    border = found["midnight"]
    assert (border.before.deploys, border.this.deploys) == (1, 1)
    assert (border.before.deploy_stalled_partition_seconds, border.this.deploy_stalled_partition_seconds) == (480, 240)
    # The third stall lasts from a minute before Monday to a minute after it.
    assert border.before.stalled_partition_seconds == pytest.approx(480 + 120)
    assert border.this.stalled_partition_seconds == pytest.approx(120 + 240)
    assert (found["idle"].before.idle_member_hours, found["idle"].this.idle_member_hours) == (30, 10)
    assert found["idle"].this.member_hours == 3 * 10 + 2 * 10
    without = found["streams without standbys"]
    assert (without.before.idle_member_hours, without.this.idle_member_hours) == (30, 10)
    for name in ("standbys", "streams of an earlier release", "streams with a standby"):
        assert (found[name].this.idle_member_hours, found[name].this.member_hours) == (0, 50)
    assert not found["connect"].this.member_hours


def test_limits_are_named_from_their_threshold_on(collected):
    assert collected.timeouts == (TimeoutRow("c", "slow", 290.0, 300.0, 2, "client-s"),)
    assert SkewRow("c", "skewed", 1.51, 2) in collected.skews


def test_a_week_of_which_nothing_is_known_is_an_error_that_names_another(filled, spark):
    with pytest.raises(
        PipelineError, match=r"no data for week 2024-W03 \(15 to 21 Jan 2024\).*--until 2024-01-14 reports"
    ):
        collect_week(filled, Week(WEEK.end), MADE_AT)
    with pytest.raises(PipelineError, match="--until 2024-01-14 reports week 2024-W02"):
        collect_week(filled, Week(WEEK.before.before.start), MADE_AT)
    with pytest.raises(PipelineError, match="pipeline aggregate"):
        collect_week(Held(spark), WEEK, MADE_AT)
