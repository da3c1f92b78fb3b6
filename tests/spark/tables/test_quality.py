"""Expectations: correct tables pass all of them, and each kind of damage fails the expectation for it."""

from __future__ import annotations

import datetime as dt
import json

import pytest
from pyspark.sql import functions as F  # noqa: N812

from rebalance_agent.model.group import GroupType
from rebalance_agent.pipeline.tables.baselines import BaselineSettings, baselines
from rebalance_agent.pipeline.tables.expectations import broken, expectations, newest
from rebalance_agent.pipeline.tables.generations import generations
from rebalance_agent.pipeline.tables.group_hours import group_hours
from rebalance_agent.pipeline.tables.members import members
from rebalance_agent.pipeline.tables.schemas import TABLES
from support.pipeline.event_rows import MONDAY_MS, aborted, events_frame, generation, gone, member

NOW_MS = MONDAY_MS + 86_400_000
ONE, TWO = [member("a", (0, 1, 2, 3))], [member("a", (0, 1)), member("b", (2, 3))]


def history():
    made = [
        generation(MONDAY_MS + 1_000, 1, ONE, stall=(0.5, 2.0), started=MONDAY_MS + 500),
        generation(MONDAY_MS + 2_000, 2, TWO, stall=(0.2, 0.8)),
        aborted(MONDAY_MS + 9_000, 4, 2),
        generation(MONDAY_MS + 9_000, 5, ONE, stall=(0.3, 0.6)),
        generation(MONDAY_MS + 9_500, 5, ONE),  # a static member returned
        gone(MONDAY_MS + 20_000),
        generation(MONDAY_MS + 30_000, 3, ONE),
        generation(MONDAY_MS + 40_000, 9, ONE, group="epochs", group_type=GroupType.CONSUMER),
        generation(MONDAY_MS + 50_000, 15, ONE, group="epochs", group_type=GroupType.CONSUMER),
        generation(MONDAY_MS + 55_000, 18, ONE, group="epochs"),
        generation(MONDAY_MS + 60_000, 1, [*TWO, member("c", (3,))], group="shared", group_type=GroupType.SHARE),
    ]
    yield from made
    yield aborted(MONDAY_MS + 90_000, 1, group="end")


@pytest.fixture(scope="module")
def whole(spark):
    events = events_frame(spark, history())
    of_groups = generations(events).cache()
    tables = {
        "events": events,
        "generations": of_groups,
        "members": members(of_groups),
        "group_hours": group_hours(of_groups, events),
        "baselines": baselines(of_groups, NOW_MS, BaselineSettings(samples=2, days=1)),
    }
    kept = {name: frame.cache() for name, frame in tables.items()}
    yield kept
    for frame in kept.values():
        frame.unpersist()


@pytest.fixture(scope="module")
def results(whole):
    return expectations(whole, NOW_MS)


def test_correct_tables_meet_all_expectations(results):
    rows = results.collect()
    assert [row for row in rows if row["failed"]] == []
    assert all(row["checked"] for row in rows)
    assert {row["table"] for row in rows} == {"events", "generations", "members", "group_hours", "baselines"}
    assert len({(row["table"], row["expectation"]) for row in rows}) == len(rows)
    assert broken(rows, strict=True) == []
    consecutive = next(row for row in rows if row["expectation"].startswith("generations are consecutive"))
    assert consecutive["checked"] == 2


def damaged(whole, name, **columns):
    """The tables with one row's columns set to SQL expressions, and only the related tables."""
    key = "event_id" if "event_id" in whole[name].columns else "group"
    victim = whole[name].where("`group` = 'g'").agg(F.min(key)).first()[0]
    changed = {
        column: F.when(F.col(key) == victim, F.expr(text)).otherwise(F.col(column)) for column, text in columns.items()
    }
    return {**whole, name: whole[name].withColumns(changed)}


DAMAGE = {
    ("events", "parts are numbered"): ("events", {"part": "1"}),
    ("events", "day is the date of the timestamp"): ("events", {"day": "date_add(day, 1)"}),
    ("generations", "times are ordered"): ("generations", {"started_at": "completed_at + INTERVAL 1 SECOND"}),
    ("generations", "only closing rows have a stall"): (
        "generations",
        {"closes_episode": "false", "stall_seconds": "1D"},
    ),
    ("generations", "an episode begins before it ends"): ("generations", {"episode_generation": "generation + 1"}),
    ("members", "each generation has its members"): ("generations", {"member_count": "member_count + 1"}),
    ("members", "partitions are conserved"): ("members", {"partitions": "partitions - 1"}),
    ("group_hours", "rebalances equal closed episodes"): ("group_hours", {"rebalances": "rebalances + 1"}),
    ("group_hours", "rebalances are the sum over triggers"): ("group_hours", {"by_trigger": "map('rejoin', 99L)"}),
    ("group_hours", "availability is a share"): ("group_hours", {"availability": "-0.1D"}),
    ("group_hours", "percentiles do not decrease"): ("group_hours", {"stall_p95": "stall_max + 1"}),
    ("baselines", "percentiles do not decrease"): ("baselines", {"stall_p95": "stall_p50 - 0.1"}),
    ("baselines", "hours are within a week"): ("baselines", {"hour_of_week": "168"}),
}


def failures(tables):
    return {(row["table"], row["expectation"]): row for row in expectations(tables, NOW_MS).collect() if row["failed"]}


def test_each_damage_is_found_by_its_expectation(whole):
    # All damages at once: each is found by its own expectation, independent of the others.
    tables = whole
    for name, columns in DAMAGE.values():
        tables = damaged(tables, name, **columns)
    found = failures(tables)
    assert found.keys() >= DAMAGE.keys()
    for row in found.values():
        assert row["severity"] == "error" or row["expectation"].startswith("generations are consecutive")
        assert json.loads(row["example"])
    assert {(row["table"], row["expectation"]) for row in broken(found.values())} >= DAMAGE.keys()


def test_a_duplicate_or_missing_key_is_found(whole):
    twice = {name: frame.unionByName(frame.limit(1)) for name, frame in whole.items()}
    assert {table for table, name in failures(twice) if name == "keys are unique"} == whole.keys()
    nobody = {"members": damaged(whole, "members", member_id="NULL")["members"]}
    assert failures(nobody).keys() == {("members", "keys are unique")}


def test_a_missing_generation_is_a_warning_that_names_it(spark):
    events = events_frame(spark, [event for event in history() if event.timestamp_ms != MONDAY_MS + 2_000])
    found = failures({"events": events, "generations": generations(events)})
    [row] = found.values()
    assert json.loads(row["example"]) == {"cluster_id": "c", "group": "g", "previous": 1, "generation": 5, "aborted": 2}
    assert broken([row]) == []
    assert broken([row], strict=True) == [row]


def test_an_old_event_that_cannot_be_a_row_is_omitted_and_counted(spark, whole):
    shared = whole["generations"].where("`group` = 'shared'").first()["event_id"]
    spoilt = F.when(F.col("event_id") == shared, F.expr("replace(body, '\"epoch_kind\"', '\"news\"')"))
    events = whole["events"].withColumn("body", F.coalesce(spoilt, "body"))
    found = failures({"events": events, "generations": generations(events)})
    [row] = found.values()
    assert (row["table"], row["expectation"], row["failed"]) == ("events", "each generation event is a row", 1)
    assert json.loads(row["example"]) == {"event_id": shared}
    assert broken([row]) == []
    rest = generations(events).select("event_id").collect()
    assert {each["event_id"] for each in rest} == {
        each["event_id"] for each in whole["generations"].collect() if each["event_id"] != shared
    }


CHANGED = {
    "signal": "stall", "changed_at": dt.datetime(2026, 1, 2, tzinfo=dt.UTC), "level_before": 2.0, "level_after": 4.0,
    "ratio": 2.0, "chance": 1e-6, "recovery": False, "sentence": "Stall doubled.",
}  # fmt: skip
ADVISED = {
    "changes": {**CHANGED, "beside": {}, "rollout": "r", "rollout_at": dt.datetime(2026, 1, 2, tzinfo=dt.UTC)},
    "cluster_changes": CHANGED,
    "slow_members": {
        "member": "m", "rebalances": 9, "stop_seconds": 4.0, "peers": 3, "peers_stop_seconds": 1.0, "deviations": 9.0,
        "chance": 1e-6, "last_at": dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
    },
    "whatif": {"strategy": "range", "protocol": "eager", "generations": 2, "moved": 3, "needed": 2, "excess": 1},
    "fidelity": {
        "assignor": "range", "implementation": "any", "checked": 2, "same_moves": 2, "same_skew": 2,
        "same_assignment": 2, "not_comparable": 1, "agreeing": 1,
    },
    "recommendations": {
        "static_membership": False, "sentence": "Use sticky.", "strategy": "sticky", "protocol": "eager",
    },
    "advice": {
        "kind": "strategy", "strategy": "sticky", "state": "taken", "given_at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        "last_given_at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC), "taken_at": dt.datetime(2026, 1, 2, tzinfo=dt.UTC),
        "predicted": 2.0, "predicted_low": 1.0, "predicted_high": 3.0, "realised": 1.0, "realised_low": -1.0,
        "realised_high": 2.0,
    },
    "events_rejected": {"reason": "malformed: no JSON", "ingested_at": dt.datetime(2026, 1, 1, tzinfo=dt.UTC)},
}  # fmt: skip
ADVICE_DAMAGE = {
    ("changes", "changes are improbable and large"): {"chance": 0.02},
    ("changes", "a deploy begins before its change"): {"rollout_at": dt.datetime(2026, 1, 3, tzinfo=dt.UTC)},
    ("cluster_changes", "changes are improbable and large"): {"ratio": 1.1},
    ("slow_members", "members are slower than their peers"): {"stop_seconds": 1.0},
    ("whatif", "excess is at most moved"): {"excess": 4},
    ("whatif", "refused strategies have no figures"): {"refused": "too large"},
    ("fidelity", "comparable decisions are repeated"): {"same_skew": 1},
    ("fidelity", "agreeing is at most not_comparable"): {"agreeing": 2},
    ("recommendations", "a strategy has its protocol"): {"protocol": None},
    ("recommendations", "each group has a sentence"): {"sentence": ""},
    ("advice", "only advice that was taken has a saving"): {"taken_at": None},
    ("advice", "savings are within their intervals"): {"predicted_high": 1.5},
    ("events_rejected", "reasons begin with a code"): {"reason": "no JSON"},
}


def identity(name, number):
    """The columns of a row's key, if it is not that of a group."""
    keys = {
        "events_rejected": {"rejected_id": f"r{number}"},
        "cluster_changes": {"cluster_id": f"c{number}"},
        "advice": {"advice_id": f"a{number}"},
    }
    return keys.get(name, {})


def advised(spark, damage):
    """The tables of advice with the rows above and, of another group each, those that are damaged."""

    def frame(name):
        changes = [{}, *(change for (table, _), change in damage.items() if table == name)]
        rows = [
            {"cluster_id": "c", "group": f"g{number}", **ADVISED[name], **change, **identity(name, number)}
            for number, change in enumerate(changes)
        ]
        schema = TABLES[name].schema
        return spark.createDataFrame([tuple(row.get(field) for field in schema.names) for row in rows], schema)

    return {name: frame(name) for name in ADVISED}


def test_tables_of_advice_are_checked(spark):
    assert failures(advised(spark, {})) == {}
    found = failures(advised(spark, ADVICE_DAMAGE))
    assert found.keys() == ADVICE_DAMAGE.keys()
    assert {row["failed"] for row in found.values()} == {1}
    warning = found["fidelity", "comparable decisions are repeated"]
    assert warning not in broken(found.values())
    assert len(broken(found.values())) == len(found) - 1


def test_only_the_last_check_of_each_table_of_this_release_is_current(spark):
    hours = [dt.datetime(2026, 6, 1, hour, tzinfo=dt.UTC) for hour in range(3)]
    checks = [
        ("events", "removed", hours[0]),
        ("events", "earlier", hours[0]),
        ("events", "last", hours[2]),
        ("whatif", "last", hours[1]),
        ("no table of ours", "last", hours[2]),
    ]
    schema = TABLES["expectations"].schema
    stored = [{"table": table, "expectation": name, "ran_at": at} for table, name, at in checks]
    fixed = {"severity": "error", "checked": 2, "failed": 1}
    rows = [tuple({**fixed, **row}.get(field) for field in schema.names) for row in stored]
    found = newest(spark.createDataFrame(rows, schema)).collect()
    assert [(row["table"], row["expectation"]) for row in found] == [("events", "last"), ("whatif", "last")]
