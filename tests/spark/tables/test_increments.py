"""A run of `aggregate` computes only what new events changed, and gives the tables of a full run.

`tests/slow/pipeline/test_many_increments.py` has further cases.
"""

from __future__ import annotations

import datetime as dt

from support.pipeline.event_rows import HOUR_MS, MONDAY_MS, generation, member
from support.pipeline.increments import DAY_MS, assert_as_full, is_increment, run, store_days


def test_a_run_computes_what_changed_and_nothing_without_new_events(spark, tables):
    store_days(tables, 1, 3)
    assert run(tables)[0] == "computing all days: this is the first complete run of this release"
    files = tables.files("generations")
    tables.compact("events")
    assert run(tables) == []
    assert tables.files("generations") == files
    moved = generation(MONDAY_MS + 2 * DAY_MS + HOUR_MS, 2, [member("b", (0, 1))], revision=1)
    store_days(tables, 4, 4, more=[moved])
    assert is_increment(run(tables))
    assert_as_full(tables)


def test_rows_of_a_day_whose_events_are_deleted_are_removed_from_all_tables(tables):
    far = generation(MONDAY_MS + 9_000 * DAY_MS, 1, [member("b", (0, 1))], group="far")
    store_days(tables, 1, 3, more=[far])
    run(tables)
    made = ("events", "generations", "members", "group_hours")
    of_far = lambda: [tables.read(name).where("group = 'far'").count() > 0 for name in made]  # noqa: E731
    assert of_far() == [True, True, True, True]
    first = dt.datetime.fromtimestamp(MONDAY_MS / 1000, dt.UTC).date()
    assert tables.keep_days("events", "day", first, first + dt.timedelta(5)) == 1
    assert is_increment(run(tables))
    assert of_far() == [False, False, False, False]
    assert_as_full(tables)
