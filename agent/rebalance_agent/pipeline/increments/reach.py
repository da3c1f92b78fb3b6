"""Finds the days of groups whose rows depend on changed events.

A row of `generations` and `members` depends on the events of its own day, and on a deploy that holds its generation.

An hour of a group depends on more, so a change reaches

- back to the begin of a stall that it ends, to the begin of the storm that it prolongs, and, if the group was without a
  rebalance for longer than `INTERVAL_HOURS_MAX`, to the rebalance before, because hours are counted back from the end;
- forward to the group's next generation, or to its cluster's last event.

A later last event of the cluster also prolongs the last generation of all of its groups.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.model.events import AbortedEvent, GenerationEvent, GroupGoneEvent
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.pipeline.increments.group_days import GROUP_DAY
from rebalance_agent.pipeline.table_schema import DRIFT_DAYS, GROUP
from rebalance_agent.pipeline.tables.generation_spans import cluster_ends
from rebalance_agent.pipeline.tables.group_hours import INTERVAL_HOURS_MAX, STORM_GAP_SECONDS, storm_windows

__all__ = ["days_of_generations", "days_of_hours"]

_MAX_MS = float(INTERVAL_HOURS_MAX * 3_600_000)
_GAP_MS = STORM_GAP_SECONDS * 1000
_BODY = "started_ms BIGINT, phases STRUCT<completed_ms: BIGINT>, stall STRUCT<lower_seconds: DOUBLE>"
_SPAN = ("begin", "end")


def days_of_generations(changes: DataFrame, events: DataFrame) -> DataFrame:
    """Return the days (`GROUP_DAY`) whose rows of `generations` and `members` may differ.

    ``changes``: rows as `changed_events` returns them; ``events``: all events.
    """
    started = F.to_date(F.timestamp_millis(F.from_json("body", _BODY)["started_ms"]))
    deploys = (
        changes.where(F.col("kind") == RolloutEvent.KIND)
        .withColumns(
            {"first": F.date_sub(F.coalesce(started, "day"), DRIFT_DAYS), "last": F.date_add("day", DRIFT_DAYS)}
        )
        .select(*GROUP, F.least("first", "day").alias("first"), "last")
        # Only days with events, because a wrong time may be decades ago.
        .join(F.broadcast(events.select("day").distinct()), F.col("day").between(F.col("first"), F.col("last")))
    )
    own = changes.where(F.col("kind") == GenerationEvent.KIND)
    return own.select(*GROUP_DAY).union(deploys.select(*GROUP_DAY)).distinct()


def days_of_hours(changes: DataFrame, generations: DataFrame, events: DataFrame, events_before: DataFrame) -> DataFrame:
    """Return the days (`GROUP_DAY`) whose rows of `group_hours` may differ.

    ``changes``: rows as `changed_events` returns them; ``generations`` and ``events``: the whole tables;
    ``events_before``: the events before the changes.
    """
    completed = generations.select(*GROUP, F.unix_millis("completed_at").alias("at"))
    ends = _ends(events, events_before)
    changed = (
        _changed_spans(changes).join(F.broadcast(ends), "cluster_id", "left").select(*GROUP, *_SPAN, "cluster_end")
    )
    prolonged = ends.where("cluster_begin < cluster_end").join(completed.select(*GROUP).distinct(), "cluster_id")
    prolonged = prolonged.select(
        *GROUP, F.col("cluster_begin").alias("begin"), F.col("cluster_end").alias("end"), "cluster_end"
    )
    spans = changed.union(prolonged).distinct()
    begin, end = F.col("begin"), F.col("end")
    neighbours = (
        spans.join(completed, [*GROUP], "left")
        .groupBy(*GROUP, *_SPAN, "cluster_end")
        .agg(
            F.max(F.when(F.col("at") < begin, F.col("at"))).alias("previous"),
            F.min(F.when(F.col("at") > end, F.col("at"))).alias("next"),
            F.max("at").alias("last"),
        )
    )
    storms = storm_windows(generations.where("closes_episode")).select(
        *GROUP,
        F.unix_millis("session.start").alias("storm"),
        F.unix_millis("session.end").alias("storm_end"),
    )
    of_storms = (
        spans.join(storms, [*GROUP])
        .where((F.col("storm") <= begin) & (F.col("storm_end") >= begin))
        .groupBy(*GROUP, *_SPAN)
        .agg(F.min("storm").alias("storm"))
    )
    latest = F.greatest(end, "last", "cluster_end")
    too_long = F.when(latest - F.col("previous") > _MAX_MS, F.col("previous"))
    first = F.least(begin, "storm", too_long)
    last = F.greatest(end + _GAP_MS, F.coalesce("next", latest))
    return (
        neighbours.join(of_storms, [*GROUP, *_SPAN], "left")
        .select(*GROUP, F.explode(F.sequence(_date(first), _date(last))).alias("day"))
        .distinct()
    )


def _changed_spans(changes: DataFrame) -> DataFrame:
    """Return for each changed day of a group the times (epoch ms) between which changed events have an effect."""
    body, at = F.from_json("body", _BODY), F.unix_millis("timestamp")
    completed = F.coalesce(body["phases"]["completed_ms"], at)
    stall = F.ceil(F.least(body["stall"]["lower_seconds"] * 1000, F.lit(_MAX_MS)))
    kinds = (GenerationEvent.KIND, AbortedEvent.KIND, GroupGoneEvent.KIND)
    return (
        changes.where(F.col("kind").isin(*kinds))
        .select(
            *GROUP_DAY, F.least(at, completed, completed - stall).alias("begin"), F.greatest(at, completed).alias("end")
        )
        .groupBy(*GROUP_DAY)
        .agg(F.min("begin").alias("begin"), F.max("end").alias("end"))
    )


def _ends(events: DataFrame, events_before: DataFrame) -> DataFrame:
    """Return the earlier and the later (``cluster_begin``, ``cluster_end``) of each cluster's last times (epoch ms)."""
    before = cluster_ends(events_before).withColumnRenamed("end", "before")
    both = cluster_ends(events).join(before, "cluster_id", "full")
    return both.select(
        "cluster_id",
        F.least("end", "before").alias("cluster_begin"),
        F.greatest("end", "before").alias("cluster_end"),
    )


def _date(epoch_ms: Column) -> Column:
    return F.to_date(F.timestamp_millis(epoch_ms))
