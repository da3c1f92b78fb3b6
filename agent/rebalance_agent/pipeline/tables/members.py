"""Computes table `members` from generations: one row for each member in each generation."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.model.group import TaskKind
from rebalance_agent.pipeline.tables.schemas import MEMBERS

__all__ = ["count_in_ranges", "members"]

_MEMBERS = """members ARRAY<STRUCT<
    member_id: STRING, instance_id: STRING, client_id: STRING, host: STRING, rack: STRING,
    topics: ARRAY<STRING>, owned: MAP<STRING, STRING>, assigned: MAP<STRING, STRING>,
    stop_seconds: DOUBLE, session_timeout_ms: INT, rebalance_timeout_ms: INT,
    where: STRUCT<pod: STRING, node: STRING, workload: STRING, image: STRING>,
    streams: STRUCT<process_id: STRING, endpoint: STRING,
        active: MAP<STRING, STRING>, standby: MAP<STRING, STRING>, warmup: MAP<STRING, STRING>>
>>"""
"""SQL schema of the fields that are read from an event's JSON."""


def members(generations: DataFrame) -> DataFrame:
    """Return the rows of table ``members`` for rows of table ``generations``; an Empty group has no rows."""
    columns = generations.select(
        "event_id",
        "cluster_id",
        "group",
        "generation",
        "completed_at",
        "day",
        F.inline(F.from_json("body", _MEMBERS)["members"]),
    )
    return columns.withColumns(
        {
            # Kafka writes a slash before a client's address, and an empty string for a rack that is not set.
            "host": F.ltrim(F.col("host"), F.lit("/")),
            "rack": F.nullif("rack", F.lit("")),
            "partitions": count_in_ranges(F.col("assigned")),
            "owned": count_in_ranges(F.col("owned")),
            **{name: F.col("where")[name] for name in ("pod", "node", "workload", "image")},
            **{name: F.col("streams")[name] for name in ("process_id", "endpoint")},
            **{f"{kind}_tasks": count_in_ranges(F.col("streams")[kind]) for kind in TaskKind},
            "subtopologies": F.transform_values(F.col("streams")["active"], lambda _, ranges: _count(ranges)),
        }
    ).select(*MEMBERS.schema.names)


def count_in_ranges(partitions: Column) -> Column:
    """Return the number of partitions in a map of topic to ranges such as ``0-4,7``."""
    return _count(F.array_join(F.map_values(partitions), ","))


def _count(ranges: Column) -> Column:
    return F.aggregate(F.split(ranges, ","), F.lit(0), lambda total, span: total + _length(span))


def _length(span: Column) -> Column:
    first, last = F.substring_index(span, "-", 1), F.substring_index(span, "-", -1)
    # Most ranges are a single partition and need no parsing.
    return F.when(span == "", 0).when(~span.contains("-"), 1).otherwise(last.cast("int") - first.cast("int") + 1)
