"""An event id that is repeated on a distant day, where a merge does not look for it, is in the tables once."""

from __future__ import annotations

import datetime as dt
from dataclasses import replace

from rebalance_agent.pipeline.stages import aggregate, judge
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.pipeline.tables.expectations import broken
from rebalance_agent.pipeline.tables.repeated_events import remove_repeated
from support.pipeline.event_rows import HOUR_MS, INGESTED, MONDAY_MS, events_frame, generation, member

FAR_MS = MONDAY_MS + 90 * 24 * HOUR_MS
TRUE = generation(FAR_MS, 1, [member("a", (0,))])
FALSE = replace(generation(MONDAY_MS, 1, [member("a", (0,))]), event_id=TRUE.event_id)
OTHER = generation(MONDAY_MS, 1, [member("b", (0,))], group="h")
LATER = INGESTED + dt.timedelta(hours=1)


def test_the_first_row_or_the_one_of_the_highest_revision_remains(spark, tmp_path):
    tables = DeltaTables(spark, str(tmp_path))
    tables.merge("events", events_frame(spark, [TRUE, OTHER]))
    assert remove_repeated(tables) == 0
    for revision, kept in ((0, FAR_MS), (1, MONDAY_MS)):
        tables.merge("events", events_frame(spark, [replace(FALSE, revision=revision)], LATER))
        assert remove_repeated(tables) == 1
        rows = tables.read("events").selectExpr("event_id", "unix_millis(timestamp) AS at").collect()
        assert {tuple(row) for row in rows} == {(OTHER.event_id, MONDAY_MS), (TRUE.event_id, kept)}


def test_aggregate_deletes_repeated_rows_first(spark, tmp_path):
    tables = DeltaTables(spark, str(tmp_path))
    for events in ([TRUE, OTHER], [FALSE]):
        tables.merge("events", events_frame(spark, events))
    steps = []
    aggregate(tables, FAR_MS, steps.append)
    assert steps[0] == "events: 1 deleted, because other events have the same ids"
    assert broken(judge(tables, FAR_MS, lambda _: None, ("events", "generations"))) == []
