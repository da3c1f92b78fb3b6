"""Reads for how long groups had members, and had members without a partition, in both weeks."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.groupprotocol.streams_user_data import STREAMS_ASSIGNOR
from rebalance_agent.model.group import GroupType
from rebalance_agent.pipeline.table_schema import GROUP
from rebalance_agent.pipeline.tables.generation_spans import generation_spans
from rebalance_agent.pipeline.weekly.queries.two_weeks import span_of
from rebalance_agent.pipeline.weekly.weeks import Week

__all__ = ["WITH_STANDBYS", "idle_sums"]

WITH_STANDBYS = ("failover", "cooperative-failover", STREAMS_ASSIGNOR)
"""Assignors of classic groups whose members may be standbys without a partition; the tables do not contain their
standbys."""

_HOUR_MS = 3_600_000


def idle_sums(generations: DataFrame, members: DataFrame, events: DataFrame, week: Week) -> DataFrame:
    """Return a row for each group that had members in one of the weeks: hours of its members and of idle members.

    Each generation counts until the next one. Groups without partitions are left out, because their members, for
    example Kafka Connect workers, get other work. A member with standby or warm-up tasks is not idle. If the tables do
    not contain a group's standbys, its members count, but no member is idle.
    """
    this, before = span_of(week), span_of(week.before)
    spans = generation_spans(generations, events, "event_id", "member_count", "group_type", "assignor")
    spans = spans.where((F.col("end") > before.begin) & (F.col("begin") < this.end))
    idle = (
        members.where("partitions = 0")
        .groupBy("event_id")
        .agg(F.count("*").alias("idle"), F.count_if(F.expr("standby_tasks + warmup_tasks = 0")).alias("without_tasks"))
    )
    unseen = F.coalesce(F.col("assignor").isin(*WITH_STANDBYS), F.lit(False))
    number = F.when(F.col("group_type") == GroupType.STREAMS.value, F.col("without_tasks")).when(~unseen, F.col("idle"))
    counted = spans.join(idle, "event_id", "left").withColumn("idle", F.coalesce(number, F.lit(0)))

    def hours(number: str, begin: int, end: int) -> Column:
        inside = F.least(F.col("end"), F.lit(end)) - F.greatest(F.col("begin"), F.lit(begin))
        return F.sum(F.col(number) * F.greatest(inside, F.lit(0)) / _HOUR_MS)

    return counted.groupBy(*GROUP).agg(
        hours("member_count", *this).alias("member_hours"),
        hours("member_count", *before).alias("member_hours_before"),
        hours("idle", *this).alias("idle_member_hours"),
        hours("idle", *before).alias("idle_member_hours_before"),
    )
