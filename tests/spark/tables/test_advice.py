"""Table `advice` over several runs: predictions, what groups did, what it saved, and what is withheld from others."""

from __future__ import annotations

import datetime as dt

import pytest

from rebalance_agent.pipeline.recommendations.adoption import Closing
from rebalance_agent.pipeline.recommendations.advice_state import followed
from rebalance_agent.pipeline.recommendations.advice_table import MISSED_MIN, advice_states, with_withheld
from rebalance_agent.pipeline.recommendations.given_advice import Advice, AdviceKind
from rebalance_agent.pipeline.stages import follow_advice
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.pipeline.tables.generations import generations
from rebalance_agent.pipeline.tables.members import members
from rebalance_agent.pipeline.tables.schemas import TABLES
from support.pipeline.event_rows import HOUR_MS, MONDAY_MS, events_frame, generation, member

DAY_MS = 24 * HOUR_MS
GIVEN_DAY, LAST_DAY = 20, 40
ADVISED = {"strategy": "sticky", "protocol": "eager", "strategy_share": 0.9, "sentence": "Use sticky."}
TAKERS = [f"missed-{number}" for number in range(MISSED_MIN)]
STATIC = {**ADVISED, "strategy": None, "protocol": None, "strategy_share": None, "static_share": 0.5}


def day(group, number, stall, assignor="range", *, static=False):
    instance = {"instance_id": "i"} if static else {}
    return generation(
        MONDAY_MS + number * DAY_MS + 12 * HOUR_MS,
        number + 1,
        [member("a", (0, 1), **instance), member("b", (2, 3), **instance)],
        group=group,
        assignor=assignor,
        stall=(stall, stall),
    )


def history(until):
    """The rebalances until a day: all groups were advised on day 20, and some followed on day 21."""
    for number in range(until + 1):
        later = number > GIVEN_DAY
        usual = 10.0 + number % 3
        yield day("saved", number, 1.0 if later else usual, "sticky" if later else "range")
        yield day("static", number, usual / 2 if later else usual, static=later)
        yield day("idle", number, usual)
        for group in TAKERS:
            yield day(group, number, usual, "sticky" if later else "range")


def frame(spark, name, *rows):
    schema = TABLES[name].schema
    return spark.createDataFrame([tuple(row.get(each) for each in schema.names) for row in rows], schema)


def recommended(spark, groups, **columns):
    rows = [{"cluster_id": "c", "group": group, "static_membership": False, **ADVISED} for group in groups]
    return frame(spark, "recommendations", *rows, *columns.get("more", ()))


def run(spark, folder, until, groups, *more):
    """Run the stage with the history until a day, and return the rows by group."""
    tables = DeltaTables(spark, str(folder))
    read_at = dt.datetime.fromtimestamp((MONDAY_MS + until * DAY_MS + 12 * HOUR_MS) / 1000, dt.UTC)
    # An event with a wrong time changes no row of other groups.
    events = events_frame(spark, [*history(until), day("ahead", 25_000, 1.0)], read_at)
    rows = generations(events)
    tables.overwrite("events", events)
    tables.overwrite("generations", rows)
    tables.overwrite("members", members(rows))
    tables.overwrite("recommendations", recommended(spark, groups, more=more))
    follow_advice(tables, lambda text: None)
    return {row["group"]: row.asDict() for row in tables.read("advice").collect()}


@pytest.fixture(scope="module")
def runs(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("tables")
    static = {"cluster_id": "c", "group": "static", "static_membership": True, **STATIC}
    first = run(spark, folder, GIVEN_DAY, ["saved", "idle", *TAKERS], static)
    again = run(spark, folder, GIVEN_DAY, ["saved", "idle", *TAKERS], static)
    last = run(spark, folder, LAST_DAY, ["idle"])
    return first, again, last


def test_a_first_run_predicts(runs):
    first, again, _ = runs
    assert first == again
    assert {row["state"] for row in first.values()} == {"open"}
    assert first["saved"]["strategy"] == "sticky"
    assert first["static"]["kind"] == "static_membership"
    assert first["saved"]["predicted"] == pytest.approx(0.9 * 7 * 11, rel=0.05)
    assert first["static"]["predicted"] == pytest.approx(0.5 * 7 * 11, rel=0.05)


def test_a_later_run_shows_what_became_of_it(runs):
    _, _, last = runs
    assert {group: row["state"] for group, row in last.items()} == {
        "saved": "taken",
        "static": "taken",
        "idle": "withheld",
        **dict.fromkeys(TAKERS, "taken"),
    }
    assert last["saved"]["realised"] == pytest.approx(7 * 10, rel=0.05)
    assert last["static"]["realised"] == pytest.approx(7 * 5.5, rel=0.1)
    assert (last["saved"]["missed"], last["static"]["missed"]) == (False, False)
    assert {last[group]["missed"] for group in TAKERS} == {True}
    assert (
        last["idle"]["reason"]
        == f"it saved less than predicted in {MISSED_MIN} of the {MISSED_MIN + 1} groups that made it"
    )


def test_rows_are_those_of_plain_python(runs):
    first, _, last = runs

    def closings(group, until):
        return [
            Closing(
                dt.datetime.fromtimestamp(each.timestamp_ms / 1000, dt.UTC),
                each.assignor,
                all(one.instance_id is not None for one in each.members),
                each.stall.partition_seconds,
            )
            for each in history(until)
            if each.group == group
        ]

    end = {number: closings("idle", number)[-1].at for number in (GIVEN_DAY, LAST_DAY)}
    for group in ("saved", "static", *TAKERS):
        kind = AdviceKind.STATIC_MEMBERSHIP if group == "static" else AdviceKind.STRATEGY
        share = 0.5 if group == "static" else 0.9
        asked = Advice("c", group, kind, None if group == "static" else "sticky", share)
        given = followed(asked, None, closings(group, GIVEN_DAY), end[GIVEN_DAY])
        found = followed(None, given, closings(group, LAST_DAY), end[LAST_DAY])
        assert (first[group]["predicted"], first[group]["predicted_low"]) == (
            given.predicted.value,
            given.predicted.low,
        )
        row = last[group]
        assert row["advice_id"] == asked.advice_id
        assert (row["realised"], row["realised_high"]) == (found.realised.saving.value, found.realised.saving.high)
        assert (row["days_before"], row["days_after"]) == (found.realised.days_before, found.realised.days_after)
        assert row["missed"] == found.missed


def test_no_history_keeps_the_rows(spark):
    row = {
        "advice_id": "a", "cluster_id": "c", "group": "g", "kind": "strategy", "strategy": "sticky", "state": "open",
        "given_at": dt.datetime(2024, 1, 1, tzinfo=dt.UTC), "last_given_at": dt.datetime(2024, 1, 1, tzinfo=dt.UTC),
    }  # fmt: skip
    earlier = frame(spark, "advice", row)
    nothing = (frame(spark, name) for name in ("recommendations", "generations", "members", "events"))
    assert with_withheld(advice_states(earlier, *nothing)).collect() == earlier.collect()
