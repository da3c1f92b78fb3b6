"""Joins tables for the expectations that cannot be checked on one table alone."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.model.events import AbortedEvent, GenerationEvent, GroupGoneEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.pipeline.table_schema import GROUP

__all__ = ["steps", "with_hours", "with_members", "with_rows"]


def steps(generations: DataFrame, events: DataFrame) -> DataFrame:
    """Return each classic ``generation`` with its ``previous`` generation and the number of ``aborted`` ones between.

    Generations without a predecessor are left out: a group's first generation, and the first after the group was
    deleted or recreated. The return of a static member is left out, too, because it does not start a new generation.
    """
    classic = F.col("group_type") == GroupType.CLASSIC.value
    completed = generations.select(
        *GROUP,
        F.col("completed_at").alias("at"),
        F.col("generation").alias("number"),
        F.when(classic, F.col("generation")).alias("generation"),
        F.lit(0).cast("long").alias("missing"),
        (~classic).cast("int").alias("breaks"),
    )
    body, aborted = F.from_json("body", "generations BIGINT"), F.col("kind") == AbortedEvent.KIND
    others = events.where(F.col("kind").isin(AbortedEvent.KIND, GroupGoneEvent.KIND)).select(
        *GROUP,
        F.col("timestamp").alias("at"),
        F.when(aborted, F.col("generation")).alias("number"),
        F.lit(None).cast("long").alias("generation"),
        F.when(aborted, F.coalesce(body["generations"], F.lit(1))).otherwise(0).alias("missing"),
        (~aborted).cast("int").alias("breaks"),
    )
    # An aborted generation has the timestamp of the generation that completed instead, but a lower number.
    order = Window.partitionBy(*GROUP).orderBy("at", F.asc_nulls_last("number"))
    life = Window.partitionBy(*GROUP, "life").orderBy("at", "generation")
    return (
        completed.unionByName(others)
        .withColumns({"missed": F.sum("missing").over(order), "life": F.sum("breaks").over(order)})
        .where("generation IS NOT NULL")
        .withColumns(
            {
                "previous": F.lag("generation").over(life),
                "aborted": F.col("missed") - F.lag("missed").over(life),
            }
        )
        .where("generation > previous")
        .select(*GROUP, "previous", "generation", "aborted")
    )


def with_rows(generations: DataFrame, events: DataFrame) -> DataFrame:
    """Return the generation events that have one part, and whether each event has a row in ``generations``."""
    rows = generations.select("event_id", F.lit(True).alias("is_row"))
    wanted = events.where((F.col("kind") == GenerationEvent.KIND) & (F.col("parts") == 1)).select("event_id")
    return wanted.join(rows, "event_id", "left")


def with_members(generations: DataFrame, members: DataFrame) -> DataFrame:
    """Return each generation with the number of its rows in ``members`` and the sum of their ``partitions``."""
    counted = members.groupBy("event_id").agg(F.count("*").alias("members"), F.sum("partitions").alias("partitions"))
    return (
        generations.select("event_id", "member_count", "partition_count", "unassigned")
        .join(counted, "event_id", "left")
        .fillna(0, ["members", "partitions"])
    )


def with_hours(generations: DataFrame, hours: DataFrame) -> DataFrame:
    """Return each hour with completed ``episodes`` of a group, and the ``rebalances`` of its row in ``group_hours``."""
    episodes = (
        generations.where("closes_episode AND member_count > 0")
        .groupBy(*GROUP, F.date_trunc("hour", "completed_at").alias("hour"))
        .agg(F.count("*").alias("episodes"))
    )
    return episodes.join(hours.select(*GROUP, "hour", "rebalances"), [*GROUP, "hour"], "left")
