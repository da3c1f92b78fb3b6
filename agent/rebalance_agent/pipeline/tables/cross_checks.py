"""Tables beside each other: what `quality` looks at where one table alone does not show whether it is whole."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - as all the world calls it

from rebalance_agent.model.events import AbortedEvent, GroupGoneEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.pipeline.tables.schemas import GROUP

__all__ = ["steps", "with_hours", "with_members"]


def steps(generations: DataFrame, events: DataFrame) -> DataFrame:
    """Each classic ``generation`` with the ``previous`` one, and how many were ``aborted`` in between.

    Without those that have none before: the first, one after the group was gone or began anew, and the return of a
    static member, which is no generation of its own.
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
    said, aborted = F.from_json("body", "generations BIGINT"), F.col("kind") == AbortedEvent.KIND
    others = events.where(F.col("kind").isin(AbortedEvent.KIND, GroupGoneEvent.KIND)).select(
        *GROUP,
        F.col("timestamp").alias("at"),
        F.when(aborted, F.col("generation")).alias("number"),
        F.lit(None).cast("long").alias("generation"),
        F.when(aborted, F.coalesce(said["generations"], F.lit(1))).otherwise(0).alias("missing"),
        (~aborted).cast("int").alias("breaks"),
    )
    # An aborted generation has the time of the one that came about instead: its lower number puts it before that.
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


def with_members(generations: DataFrame, members: DataFrame) -> DataFrame:
    """Each generation, with the number of rows that it has in ``members`` and the ``partitions`` of these."""
    counted = members.groupBy("event_id").agg(F.count("*").alias("members"), F.sum("partitions").alias("partitions"))
    return (
        generations.select("event_id", "member_count", "partition_count", "unassigned")
        .join(counted, "event_id", "left")
        .fillna(0, ["members", "partitions"])
    )


def with_hours(generations: DataFrame, hours: DataFrame) -> DataFrame:
    """Each hour in which ``episodes`` of a group completed, with the ``rebalances`` of its row in ``group_hours``."""
    episodes = (
        generations.where("closes_episode AND member_count > 0")
        .groupBy(*GROUP, F.date_trunc("hour", "completed_at").alias("hour"))
        .agg(F.count("*").alias("episodes"))
    )
    return episodes.join(hours.select(*GROUP, "hour", "rebalances"), [*GROUP, "hour"], "left")
