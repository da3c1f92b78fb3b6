"""Any order of increments, late, revised and deleted events and failed runs gives the tables of one full run."""

from __future__ import annotations

import random

import pytest
from delta.tables import DeltaTable

from rebalance_agent.pipeline.errors import PipelineError
from rebalance_agent.pipeline.increments import reach
from rebalance_agent.pipeline.spark.session import SessionSettings, open_session
from rebalance_agent.pipeline.tables import group_hours as hours_module
from rebalance_agent.pipeline.tables.delta_tables import KEEPS_CHANGES, DeltaTables
from rebalance_agent.pipeline.tables.schemas import GENERATIONS
from support.pipeline.changing_fleets import Fleet, assert_all_found, random_cluster
from support.pipeline.event_rows import HOUR_MS, MONDAY_MS, events_frame, generation, member
from support.pipeline.increments import (
    DAY_MS,
    NOW_MS,
    Interrupted,
    assert_as_full,
    assert_increments_give_a_full_run,
    is_increment,
    run,
    store_days,
)
from support.pipeline.pipelines import SHORT_LIVED

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning")]

CLUSTERS = 1000
HOURS_MAX = 72
CHECKS_RETENTION = "spark.databricks.delta.retentionDurationCheck.enabled"


@pytest.fixture(scope="module")
def spark():
    settings = SessionSettings(master="local[2]", driver_memory="2g", partitions=2, more=SHORT_LIVED)
    with open_session(settings, "tests") as session:
        yield session


@pytest.fixture
def tables(spark, tmp_path):
    return DeltaTables(spark, str(tmp_path / "tables"))


@pytest.mark.parametrize("number", range(4))
def test_increments_of_random_fleets_give_the_tables_of_a_full_run(spark, tmp_path, number):
    seed = random.randrange(2**32)
    print("seed", seed)
    tables = Interrupted(spark, str(tmp_path / "tables"))
    assert_increments_give_a_full_run(tables, random.Random(seed), pieces=4, in_order=number == 0)


@pytest.mark.parametrize("number", range(2))
def test_all_days_of_random_clusters_that_differ_are_found(spark, monkeypatch, number):
    for module in (hours_module, reach):
        monkeypatch.setattr(module, "INTERVAL_HOURS_MAX", HOURS_MAX)
    seed = random.randrange(2**32)
    print("seed", seed)
    rng = random.Random(seed)
    assert_all_found(Fleet(spark, [each for cluster in range(CLUSTERS) for each in random_cluster(rng, f"c{cluster}")]))


def test_all_days_are_computed_if_the_changes_are_unknown(spark, tables):
    store_days(tables, 1, 2)
    run(tables)
    store_days(tables, 3, 3)
    assert run(tables, full=True)[0] == "computing all days: as requested"
    store_days(tables, 4, 4)
    assert run(tables, now_ms=NOW_MS + 7 * DAY_MS)[0] == "computing all days: the last run was more than 6 days ago"
    tables.spark.sql(f"ALTER TABLE delta.`{tables.path('events')}` UNSET TBLPROPERTIES ({KEEPS_CHANGES})")
    store_days(tables, 5, 5)
    assert run(tables)[0] == "computing all days: the events table has no change data feed"
    store_days(tables, 6, 6)
    assert is_increment(run(tables))
    assert_as_full(tables)


def test_tables_of_an_older_release_are_computed_once_and_then_updated(spark, tables):
    store_days(tables, 1, 2)
    old = spark.createDataFrame([], GENERATIONS.schema).drop("day")
    old.write.format("delta").save(tables.path("generations"))
    assert not is_increment(run(tables))
    store_days(tables, 3, 3)
    assert is_increment(run(tables))
    assert_as_full(tables)


def test_all_days_are_computed_if_the_files_of_changes_are_deleted(spark, tables):
    store_days(tables, 1, 3)
    run(tables)
    moved = generation(MONDAY_MS + 2 * DAY_MS + HOUR_MS, 2, [member("b", (0, 1))], revision=1)
    tables.merge("events", events_frame(spark, [moved]))
    spark.conf.set(CHECKS_RETENTION, "false")
    try:
        DeltaTable.forPath(spark, tables.path("events")).vacuum(0)
    finally:
        spark.conf.unset(CHECKS_RETENTION)
    assert run(tables)[0].startswith("computing all days: the changes of events cannot be read: ")
    assert_as_full(tables)


@pytest.mark.parametrize("after", [False, True])
def test_of_two_runs_at_once_the_later_one_finishes(spark, tmp_path, after):
    slow = Interrupted(spark, str(tmp_path / "tables"))
    store_days(slow, 1, 3)
    run(slow)
    store_days(slow, 4, 4)

    def other_run():
        store_days(slow, 5, 5)
        run(DeltaTables(spark, slow.folder))

    slow.writes, slow.after, slow.interrupt = 2, after, other_run
    with pytest.raises(PipelineError, match="another run has begun"):
        run(slow)
    assert_as_full(slow)
    assert run(DeltaTables(spark, slow.folder)) == []
