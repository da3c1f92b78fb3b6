"""Records of the baselines topic: what the pipeline writes is what an observer reads."""

from __future__ import annotations

import datetime as dt

import pytest

from rebalance_agent.model.baseline import BASELINE_BYTES_MAX, AdviceSavings, baseline_from_json
from rebalance_agent.pipeline.publishing.baseline_messages import baseline_messages
from rebalance_agent.pipeline.tables.baselines import BaselineSettings, baselines
from rebalance_agent.pipeline.tables.generations import generations
from rebalance_agent.pipeline.tables.schemas import TABLES
from support.pipeline.event_rows import HOUR_MS, MONDAY_MS, events_frame, generation, member

NOW_MS = MONDAY_MS + 5 * 24 * HOUR_MS
GIVEN_AT = dt.datetime(2026, 6, 1, tzinfo=dt.UTC)
PERCENTILES = ("stall_p50", "stall_p95", "stall_p99")


def normal(spark, *groups):
    """Baselines of groups with three stalls."""
    events = [
        generation(MONDAY_MS + day * 24 * HOUR_MS, day + 1, [member("a", (0,))], group=group, stall=(day + 0.5, 1.0))
        for group in groups
        for day in range(3)
    ]
    return baselines(generations(events_frame(spark, events)), NOW_MS, BaselineSettings(samples=3, days=3))


def advice(spark, *rows):
    schema = TABLES["advice"].schema
    usual = {"cluster_id": "c", "kind": "strategy", "given_at": GIVEN_AT, "last_given_at": GIVEN_AT}
    filled = [{"advice_id": str(index), **usual, **row} for index, row in enumerate(rows)]
    return spark.createDataFrame([tuple(row.get(name) for name in schema.names) for row in filled], schema)


def change(group, state, predicted=None, realised=None):
    return {"group": group, "state": state, "predicted": predicted, "realised": realised}


def published(messages):
    return {
        message["key"]: baseline_from_json(message["value"].encode())
        for message in messages.collect()
        if len(message["value"]) < BASELINE_BYTES_MAX / 2
    }


def test_the_hours_of_a_record_are_the_rows_of_the_table(spark):
    frame = normal(spark, "a", "b").cache()
    read = published(baseline_messages(frame, advice(spark), NOW_MS))
    assert read.keys() == {"c:a", "c:b"}
    assert {(each.computed_ms, each.savings) for each in read.values()} == {(NOW_MS, None)}
    found = {(each.group, hour.hour_of_week): hour for each in read.values() for hour in each.hours}
    rows = {(row["group"], row["hour_of_week"]): row for row in frame.collect()}
    frame.unpersist()
    assert found.keys() == rows.keys()
    for key, hour in found.items():
        assert (hour.scope.value, hour.samples) == (rows[key]["scope"], rows[key]["samples"])
        seconds = (hour.stall_p50_seconds, hour.stall_p95_seconds, hour.stall_p99_seconds)
        assert seconds == tuple(rows[key][name] for name in PERCENTILES)


def test_savings_are_the_sums_of_changes_that_were_made_or_can_still_be_made(spark):
    changes = [
        change("a", "taken", 10.0, 12.5),
        change("a", "taken", 20.0, -2.0),
        change("a", "taken", 40.0),
        change("a", "open", 80.0),
        change("a", "ignored", 160.0),
        change("a", "ignored"),
        change("a", "withheld", 320.0),
        change("b", "taken_back", 1.0, 1.0),
        change("b", "withdrawn", 1.0),
        change("only baselines", "withdrawn", 1.0),
    ]
    read = published(baseline_messages(normal(spark, "only baselines"), advice(spark, *changes), NOW_MS))
    assert read.keys() == {"c:a", "c:only baselines"}
    assert read["c:a"].savings == AdviceSavings(3, 2, 10.5, 30.0, 3, 240.0)
    assert read["c:a"].hours == ()
    assert read["c:only baselines"].savings is None
    assert len(read["c:only baselines"].hours) == 168


@pytest.mark.parametrize("name", ["", "a:b", 'quote"', "ä 語"])
def test_any_name_of_a_group_is_in_key_and_value(spark, name):
    read = published(baseline_messages(normal(spark), advice(spark, change(name, "open", 1.0)), NOW_MS))
    assert {key: each.group for key, each in read.items()} == {f"c:{name}": name}
