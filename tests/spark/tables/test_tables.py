"""Tables survive concurrent writers, older and newer releases, and compaction of small files."""

from __future__ import annotations

import datetime as dt
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from delta.tables import DeltaTable
from py4j.protocol import Py4JJavaError
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StructField, StructType

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.pipeline.errors import PipelineError
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.pipeline.tables.schemas import BASELINES, EXPECTATIONS

NOW = dt.datetime(2026, 11, 21, tzinfo=dt.UTC)


def baseline(group, hour, p50):
    return {
        "cluster_id": "c", "group": group, "hour_of_week": hour, "scope": "hour_of_week", "samples": 20,
        "stall_p50": p50, "stall_p95": 2.0, "stall_p99": 3.0, "computed_at": NOW,
    }  # fmt: skip


def frame(tables, *rows):
    return tables.spark.createDataFrame(list(rows), BASELINES.schema)


def p50s(tables):
    return {(row["group"], row["hour_of_week"]): row["stall_p50"] for row in tables.read("baselines").collect()}


def test_a_folder_may_be_a_relative_path(spark, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    tables = DeltaTables(spark, "here")
    tables.merge("baselines", frame(tables, baseline("g", 1, 1.0)))
    assert p50s(DeltaTables(spark, str(tmp_path / "here"))) == {("g", 1): 1.0}
    assert DeltaTables(spark, "s3a://bucket/there/").path("events") == "s3a://bucket/there/events"


def test_concurrent_writers_lose_and_duplicate_nothing(tables):
    def merge(number):
        tables.merge("baselines", frame(tables, baseline("all", 0, 1.0), baseline(f"g{number}", 0, float(number))))

    merge(0)
    with ThreadPoolExecutor(3) as pool:
        list(pool.map(merge, range(1, 4)))
    assert tables.read("baselines").count() == 5
    assert p50s(tables) == {("all", 0): 1.0} | {(f"g{number}", 0): float(number) for number in range(4)}


def test_a_writer_killed_before_its_first_commit_prevents_no_other(tables):
    Path(tables.path("baselines"), "_delta_log").mkdir(parents=True)
    tables.merge("baselines", frame(tables, baseline("g", 1, 1.0)))
    assert p50s(tables) == {("g", 1): 1.0}


def test_known_columns_of_a_newer_releases_table_are_read(tables):
    tables.overwrite("baselines", frame(tables, baseline("g", 1, 1.0)))
    path = tables.path("baselines")
    newer = tables.spark.read.format("delta").load(path).selectExpr("*", "1 AS added")
    newer.write.format("delta").mode("overwrite").option("overwriteSchema", "true").save(path)
    assert tables.read("baselines").schema.names == BASELINES.schema.names
    tables.merge("baselines", frame(tables, baseline("g", 1, 5.0), baseline("g", 2, 6.0)))
    assert p50s(tables) == {("g", 1): 5.0, ("g", 2): 6.0}


def test_a_table_of_an_older_release_gets_missing_columns(tables):
    path = tables.path("baselines")
    frame(tables, baseline("g", 1, 1.0)).drop("stall_p99").write.format("delta").save(path)
    assert [row["stall_p99"] for row in tables.read("baselines").collect()] == [None]
    tables.merge("baselines", frame(tables, baseline("g", 2, 6.0)))
    found = {row["hour_of_week"]: row["stall_p99"] for row in tables.read("baselines").collect()}
    assert found == {1: None, 2: 3.0}


def test_an_overwritten_table_keeps_not_null_constraints(tables):
    nobody = tables.spark.createDataFrame([baseline("g", 1, 1.0)]).withColumns({
        "group": F.lit(None).cast("string"), "hour_of_week": F.lit(1), "samples": F.lit(20).cast("long")
    })  # fmt: skip
    for _ in range(2):
        tables.overwrite("baselines", frame(tables, baseline("g", 1, 1.0)))
        with pytest.raises(Py4JJavaError, match="NOT NULL constraint violated for column: group"):
            tables.overwrite("baselines", nobody)
    assert p50s(tables) == {("g", 1): 1.0}


def test_an_overwritten_table_of_another_release_gets_our_columns(tables):
    path = tables.path("baselines")
    frame(tables, baseline("g", 1, 1.0)).drop("stall_p99").write.format("delta").save(path)
    tables.overwrite("baselines", frame(tables, baseline("g", 2, 6.0)))
    assert p50s(tables) == {("g", 2): 6.0}
    assert tables.spark.read.format("delta").load(path).schema.names == BASELINES.schema.names


def test_columns_not_null_in_an_older_release_may_become_nullable(tables):
    strict = StructType([StructField(field.name, field.dataType, nullable=False) for field in BASELINES.schema])
    DeltaTable.create(tables.spark).location(tables.path("baselines")).addColumns(strict).execute()
    tables.merge("baselines", frame(tables, baseline("g", 1, 1.0)))
    tables.merge("baselines", frame(tables, baseline("g", 2, 2.0) | {"stall_p99": None}))
    assert {row["stall_p99"] for row in tables.read("baselines").collect()} == {3.0, None}


def test_small_files_are_compacted_and_rows_of_other_days_deleted_only_on_request(tables):
    for day in (1, 2, 3, 4):
        ran_at = dt.datetime(2026, 11, day, 12, tzinfo=dt.UTC)
        row = ("events", f"run {day}", 1, 0, ran_at)
        names = [field.name for field in EXPECTATIONS.schema]
        known = dict(zip(("table", "expectation", "checked", "failed", "ran_at"), row, strict=True)) | {
            "severity": "error"
        }
        values = [tuple(known.get(name) for name in names)]
        tables.append("expectations", tables.spark.createDataFrame(values, EXPECTATIONS.schema))
    before, after = tables.compact("expectations")
    assert after <= before
    assert after == 1
    assert tables.keep_days("expectations", "ran_at", dt.date(2026, 11, 2), dt.date(2026, 11, 3)) == 2
    assert sorted(row["expectation"] for row in tables.read("expectations").collect()) == ["run 2", "run 3"]


def test_invalid_arguments_are_refused(tables):
    with pytest.raises(PipelineError, match="there is no table 'evnts'"):
        tables.read("evnts")
    with pytest.raises(PipelineError, match="have other columns than the table"):
        tables.merge("baselines", frame(tables, baseline("g", 1, 1.0)).drop("samples"))
    with pytest.raises(PipelineError, match="has a key"):
        tables.append("baselines", frame(tables, baseline("g", 1, 1.0)))
    with pytest.raises(InvalidInputError, match="must be at least 168"):
        tables.compact("baselines", 1)
    assert tables.read("baselines").count() == 0
