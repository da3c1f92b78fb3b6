"""Computes how long each generation with members and partitions lasted, and when a cluster's history ends."""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.model.events import AssignEvent, GroupGoneEvent, MemberEvent
from rebalance_agent.model.reported.led_generation import LedGenerationEvent
from rebalance_agent.pipeline.table_schema import GROUP

__all__ = ["CLIENT_KINDS", "cluster_ends", "generation_spans", "group_steps"]

CLIENT_KINDS = (MemberEvent.KIND, AssignEvent.KIND, LedGenerationEvent.KIND)
"""Kinds of events that consumers post: their times are by the clock of the consumer's process, or freely chosen."""


def cluster_ends(events: DataFrame) -> DataFrame:
    """Return the time at which each cluster's history ends, ``end`` (epoch ms): the last event, except `CLIENT_KINDS`.

    One wrong clock must not prolong every group. So the times of consumers do not count, and no event counts as later
    than the time at which the event was read. A cluster that has only events of `CLIENT_KINDS` has no row.
    """
    last = F.max(F.least(F.unix_millis("timestamp"), F.unix_millis("ingested_at")))
    counted = events.where(~F.col("kind").isin(*CLIENT_KINDS))
    return counted.groupBy("cluster_id").agg(last.alias("end"))


def group_steps(generations: DataFrame, events: DataFrame, *columns: str) -> DataFrame:
    """Return a row with the time (``begin``, epoch ms) of each generation and deletion of a group.

    ``partitions`` is the number of subscribed partitions, 0 without members. ``columns``: columns of ``generations``
    to keep; they are null for a deletion.
    """
    return generations.select(
        *GROUP,
        "generation",
        F.unix_millis("completed_at").alias("begin"),
        F.when(F.col("member_count") > 0, F.col("partition_count")).otherwise(0).alias("partitions"),
        *columns,
    ).unionByName(
        events.where(F.col("kind") == GroupGoneEvent.KIND).select(
            *GROUP, F.unix_millis("timestamp").alias("begin"), F.lit(0).alias("partitions")
        ),
        allowMissingColumns=True,
    )


def generation_spans(generations: DataFrame, events: DataFrame, *columns: str) -> DataFrame:
    """Return a row for each generation with members and partitions, for rows of tables ``generations`` and ``events``.

    ``begin`` and ``end`` are epoch milliseconds. A generation lasts until the group's next generation, until the group
    was deleted or, if the group still exists, until its cluster's history ends (`cluster_ends`). ``partitions`` is the
    number of subscribed partitions. ``columns``: columns of ``generations`` to keep.
    """
    steps = group_steps(generations, events, *columns)
    order = Window.partitionBy(*GROUP).orderBy("begin", F.asc_nulls_last("generation"))
    return (
        steps.withColumn("next", F.lead("begin").over(order))
        .where("partitions > 0")
        .join(F.broadcast(cluster_ends(events)), "cluster_id")
        .withColumn("end", F.coalesce("next", "end"))
        .drop("next")
    )
