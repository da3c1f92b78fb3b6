"""A run of `aggregate` computes only what new events changed, and gives the tables of a full run.

`tests/slow/pipeline/test_many_increments.py` has further cases.
"""

from __future__ import annotations

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
