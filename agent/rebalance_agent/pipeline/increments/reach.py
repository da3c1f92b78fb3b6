"""Finds the days of groups whose rows depend on changed events.

A row of `generations` and `members` depends on the events of its own day, and on the deploy that contains its
generation.

An hour of a group depends on more. Each step of a group, which is a generation or the group's deletion, ends the
previous generation. The last generation lasts until the cluster's last event (`cluster_ends`; events that consumers
post do not count). So a changed step affects the hours

- forward to the group's next step, or to its cluster's last event;
- back to the start of a stall that the step ends, and to the start of a storm that the step prolongs;
- back to the previous step, if its generation can be longer than `INTERVAL_HOURS_MAX`: hours count back from the end;
- back to the cluster's last event, if the previous generation ended with that event and the step is later.

A later last event of a cluster also prolongs the last generation of all groups in the cluster. A run that was killed
may have written rows of a version between the last run and this run. ``changes`` also contains the events of these
versions, so the days of such rows are found: all times here come from ``changes``, and from events that did not change
and therefore are in every version.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.model.events import AbortedEvent, GenerationEvent, GroupGoneEvent
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.pipeline.table_schema import DRIFT_DAYS, GROUP, GROUP_DAY
from rebalance_agent.pipeline.tables.generation_spans import cluster_ends, group_steps
from rebalance_agent.pipeline.tables.group_hours import INTERVAL_HOURS_MAX, STORM_GAP_SECONDS, storm_windows

__all__ = ["days_of_generations", "days_of_hours"]

_GAP_MS = STORM_GAP_SECONDS * 1000
_BODY = "started_ms BIGINT, phases STRUCT<completed_ms: BIGINT>, stall STRUCT<lower_seconds: DOUBLE>"
_SPAN = (*GROUP, "begin", "end")


def days_of_generations(changes: DataFrame, events: DataFrame) -> DataFrame:
    """Return the days (`GROUP_DAY`) whose rows of `generations` and `members` may differ.

    ``changes``: rows as `changed_events` returns them; ``events``: all events.
    """
    started = F.to_date(F.timestamp_millis(F.from_json("body", _BODY)["started_ms"]))
    deploys = (
        changes.where(F.col("kind") == RolloutEvent.KIND)
        # `generations` also compares the days.
        .withColumns(
            {"first": F.date_sub(F.coalesce(started, "day"), DRIFT_DAYS), "last": F.date_add("day", DRIFT_DAYS)}
        )
        .select(*GROUP, F.least("first", "day").alias("first"), "last")
        # Only days with events are kept, because a wrong time may be decades ago.
        .join(F.broadcast(events.select("day").distinct()), F.col("day").between(F.col("first"), F.col("last")))
    )
    own = changes.where(F.col("kind") == GenerationEvent.KIND)
    return own.select(*GROUP_DAY).union(deploys.select(*GROUP_DAY)).distinct()


def days_of_hours(changes: DataFrame, generations: DataFrame, events: DataFrame) -> DataFrame:
    """Return the days (`GROUP_DAY`) whose rows of `group_hours` may differ.

    ``changes``: rows as `changed_events` returns them; ``generations`` and ``events``: the whole tables.
    """
    steps = group_steps(generations, events).select(*GROUP, F.col("begin").alias("at"))
    ends = _ends(changes, events)
    spans = _changed_spans(changes)
    begun = _storm_begins(spans, generations)
    reached = _reached(spans, steps, ends).join(begun, [*_SPAN], "left")
    first, last = F.least("first", "storm"), F.greatest("last", F.col("end") + _GAP_MS)
    of_aborted = changes.where(F.col("kind") == AbortedEvent.KIND).select(*GROUP_DAY)
    return of_aborted.union(_days(reached, first, last)).union(_prolonged(steps, ends)).distinct()


def _changed_spans(changes: DataFrame) -> DataFrame:
    """Return the period (epoch ms) that contains the steps and stalls of each changed day of a group.

    All parts of a generation have the same times, so one changed part is enough.
    """
    body, at = F.from_json("body", _BODY), F.unix_millis("timestamp")
    completed = F.coalesce(body["phases"]["completed_ms"], at)
    seconds = body["stall"]["lower_seconds"]
    stall = F.when(seconds.isNotNull(), F.ceil(F.least(seconds * 1000, F.lit(_max_ms()))))  # LEAST skips nulls
    return (
        changes.where(F.col("kind").isin(GenerationEvent.KIND, GroupGoneEvent.KIND))
        .select(
            *GROUP_DAY, F.least(at, completed, completed - stall).alias("begin"), F.greatest(at, completed).alias("end")
        )
        .groupBy(*GROUP_DAY)
        .agg(F.min("begin").alias("begin"), F.max("end").alias("end"))
        .select(*_SPAN)
    )


def _reached(spans: DataFrame, steps: DataFrame, ends: DataFrame) -> DataFrame:
    """Add the ``first`` and ``last`` time of the generations that a span's changes begin, end or shorten."""
    of_groups = spans.groupBy(*GROUP).agg(F.max("end").alias("last_change"))
    near = (
        spans.join(steps, [*GROUP], "left")
        .groupBy(*_SPAN)
        .agg(
            F.max(F.when(F.col("at") < F.col("begin"), F.col("at"))).alias("previous"),
            F.min(F.when(F.col("at") > F.col("end"), F.col("at"))).alias("next"),
            F.max("at").alias("last_step"),
        )
    )
    previous = F.col("previous")
    latest = F.greatest("last_change", "last_step", "cluster_end")
    lasted = F.when(
        previous.isNotNull() & (F.col("cluster_begin") < F.col("begin")), F.greatest(previous, "cluster_begin")
    )
    too_long = F.when(latest - previous > _max_ms(), previous)
    return (
        near.join(of_groups, [*GROUP])
        .join(ends, "cluster_id", "left")
        .select(*_SPAN, F.least("begin", lasted, too_long).alias("first"), F.coalesce("next", latest).alias("last"))
    )


def _storm_begins(spans: DataFrame, generations: DataFrame) -> DataFrame:
    """Return the spans that begin during or right after a storm, with the time at which the ``storm`` began."""
    of_groups = generations.where("closes_episode").join(spans.select(*GROUP).distinct(), [*GROUP], "left_semi")
    storms = storm_windows(of_groups).select(
        *GROUP, F.unix_millis("session.start").alias("storm"), F.unix_millis("session.end").alias("storm_end")
    )
    begin = F.col("begin")
    during = spans.join(storms, [*GROUP]).where((F.col("storm") <= begin) & (F.col("storm_end") >= begin))
    return during.groupBy(*_SPAN).agg(F.min("storm").alias("storm"))


def _prolonged(steps: DataFrame, ends: DataFrame) -> DataFrame:
    """Return the days between the different ends of a cluster, for all groups of each cluster.

    If the last generation is longer than `INTERVAL_HOURS_MAX`, its first hours differ, too.
    """
    at, begin, end, longest = F.col("at"), F.col("cluster_begin"), F.col("cluster_end"), _max_ms()
    last = steps.groupBy(*GROUP).agg(F.max("at").alias("at")).join(ends.where(begin < end), "cluster_id")
    too_long = last.where(end - at > longest)
    return _days(last, begin, end).union(_days(too_long, F.greatest(at, begin - longest), end - longest))


def _ends(changes: DataFrame, events: DataFrame) -> DataFrame:
    """Return the earliest and the latest possible time of the last event (epoch ms) for each cluster with changes.

    ``cluster_begin``: the last event that did not change; null if all events of the cluster changed. ``cluster_end``:
    the last event before or after the change.
    """
    same = events.join(changes.select("event_id").distinct(), "event_id", "left_anti")
    unchanged = cluster_ends(same).withColumnRenamed("end", "cluster_begin")
    both = cluster_ends(changes).join(unchanged, "cluster_id", "left")
    return both.select("cluster_id", "cluster_begin", F.greatest("cluster_begin", "end").alias("cluster_end"))


def _days(rows: DataFrame, first: Column, last: Column) -> DataFrame:
    """Return the days (`GROUP_DAY`) from the first to the last time (epoch ms) of each row."""
    return rows.select(*GROUP, F.explode(F.sequence(_date(first), _date(last))).alias("day"))


def _max_ms() -> int:
    return INTERVAL_HOURS_MAX * 3_600_000


def _date(epoch_ms: Column) -> Column:
    return F.to_date(F.timestamp_millis(epoch_ms))
