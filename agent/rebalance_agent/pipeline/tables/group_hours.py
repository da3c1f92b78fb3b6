"""Computes table `group_hours` from generations and events: a group's rebalances, stalls and availability by hour.

A rebalance counts in the hour in which it completed; its stall is spread over the hours in which partitions were
stalled. There is a row for each hour with an event and for each hour in which the group had members: from its first
known generation until it was deleted or, if it still exists, until its cluster's history ends (`cluster_ends`).
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.events import AbortedEvent
from rebalance_agent.pipeline.percentiles import in_order, percentile
from rebalance_agent.pipeline.table_schema import GROUP, GROUP_DAY
from rebalance_agent.pipeline.tables.generation_spans import generation_spans
from rebalance_agent.pipeline.tables.schemas import GROUP_HOURS

__all__ = ["INTERVAL_HOURS_MAX", "STORM_GAP_SECONDS", "STORM_REBALANCES", "GroupDays", "group_hours", "storm_windows"]

STORM_GAP_SECONDS = 60
"""Longest time (seconds) between rebalances of the same storm."""

STORM_REBALANCES = 5
"""Minimum number of rebalances of a storm. Fewer are normal: some members joined one after the other."""

INTERVAL_HOURS_MAX = 366 * 24
"""Maximum length of a generation or stall in hours, so that a wrong timestamp adds at most the rows of a year."""

_HOUR_MS = 3_600_000

_SUMS = (
    *("rebalances", "noops", "followups", "moved", "moved_excess"),
    *("aborted", "storms", "stalled_partition_seconds", "served_seconds"),
)
"""Columns that are 0 instead of null in an hour without values to sum."""


@dataclass(frozen=True)
class GroupDays:
    """Days of groups: ``keys`` has the columns cluster_id, group and day; ``days`` has the distinct days."""

    keys: DataFrame
    days: Sequence[dt.date]

    def rows(self, table: DataFrame) -> DataFrame:
        """Return the rows of these days of groups in a table (with the columns of `GROUP_DAY`)."""
        return self._of_keys(_of_days(table, self))

    def facts(self, facts: DataFrame) -> DataFrame:
        """Return the facts (with the columns of `GROUP` and ``hour``) of these days."""
        return self._of_keys(facts.withColumn("day", _day())).drop("day")

    def _of_keys(self, rows: DataFrame) -> DataFrame:
        return rows.join(F.broadcast(self.keys), [*GROUP_DAY], "left_semi")


def group_hours(generations: DataFrame, events: DataFrame, only: GroupDays | None = None) -> DataFrame:
    """Return the rows of table ``group_hours`` for rows of tables ``generations`` and ``events``.

    ``only``: the days of groups whose rows are wanted; the tables must be whole nevertheless.
    """
    episodes = generations.where("closes_episode")
    aborted, completed, storms = _aborted(_of_days(events, only)), _completed(episodes), _storms(episodes)
    if only is not None:
        aborted, completed, storms = only.facts(aborted), only.facts(completed), only.facts(storms)
    facts = (aborted, _served(generations, events, only), _stalled(episodes, only), storms)
    lifetimes = reduce(lambda left, right: left.unionByName(right, allowMissingColumns=True), facts)
    # Computed separately, because most hours have no rebalance and these aggregates are expensive.
    rebalanced = _by_hours(completed, _of_rebalances())
    hours = _by_hours(lifetimes, _of_time()).join(rebalanced, [*GROUP, "hour"], "full").fillna(0, _SUMS)
    return (
        hours.withColumns(
            {
                "hour": F.timestamp_millis(F.col("hour") * _HOUR_MS),
                "day": _day(),
                "by_trigger": F.coalesce("by_trigger", F.expr("CAST(map() AS MAP<STRING, BIGINT>)")),
                "flapping": F.coalesce("flapping", F.expr("CAST(array() AS ARRAY<STRING>)")),
                # Stalls before the first known generation must not exceed the total.
                "partition_seconds": F.greatest("served_seconds", "stalled_partition_seconds"),
                **{f"stall_p{percent}": percentile(F.col("stalls"), percent) for percent in (50, 95, 99)},
                "stall_max": F.array_max("stalls"),
                "slowest_seconds": F.col("slowest.seconds"),
                "slowest_client_id": F.col("slowest.client_id"),
            }
        )
        .withColumn(
            "availability",
            F.when(F.col("partition_seconds") > 0, 1 - F.col("stalled_partition_seconds") / F.col("partition_seconds")),
        )
        .select(*GROUP_HOURS.schema.names)
    )


def _of_days(table: DataFrame, only: GroupDays | None) -> DataFrame:
    """Return the rows of these days, so that Spark reads no other folders; most of the bytes are in the bodies."""
    return table if only is None else table.where(F.col("day").isin(list(only.days)))


def _day() -> Column:
    """Return the day from the column ``hour`` (hours since 1970)."""
    return F.date_from_unix_date(F.floor(F.col("hour") / 24).cast("int"))


def _by_hours(facts: DataFrame, totals: list[Column]) -> DataFrame:
    return facts.groupBy(*GROUP, "hour").agg(*totals)


def _of_time() -> list[Column]:
    """Return the aggregates of all facts except completed rebalances; a fact is null in the columns of other facts."""
    return [
        F.sum("aborted").alias("aborted"),
        F.sum("storms").alias("storms"),
        F.sum("stalled").alias("stalled_partition_seconds"),
        F.sum("served").alias("served_seconds"),
        F.max("skew_ratio").alias("skew_max"),
    ]


def _of_rebalances() -> list[Column]:
    counts = [column for kind in Trigger for column in (F.lit(kind.value), F.count_if(F.col("trigger") == kind.value))]
    flapping = F.array_sort(F.array_distinct(F.flatten(F.collect_list("flapping"))))
    return [
        F.count("trigger").alias("rebalances"),
        F.map_filter(F.create_map(*counts), lambda _trigger, count: count > 0).alias("by_trigger"),
        F.count_if("noop").alias("noops"),
        *(F.sum(name).alias(name) for name in ("followups", "moved", "moved_excess")),
        in_order("stall_seconds").alias("stalls"),
        flapping.alias("flapping"),
        F.max("slowest").alias("slowest"),
    ]


def _completed(episodes: DataFrame) -> DataFrame:
    """Return the episodes. As in the observer, an episode that leaves the group Empty has costs but no trigger."""
    slowest = F.struct(F.col("slowest_seconds").alias("seconds"), F.col("slowest_client_id").alias("client_id"))
    return episodes.select(
        *GROUP,
        _hour(_ms(F.col("completed_at"))).alias("hour"),
        F.when(F.col("member_count") > 0, F.col("trigger")).alias("trigger"),
        "noop",
        "followups",
        "stall_seconds",
        "moved",
        F.col("excess").alias("moved_excess"),
        "flapping",
        F.when(F.col("slowest_seconds").isNotNull(), slowest).alias("slowest"),
    )


def _aborted(events: DataFrame) -> DataFrame:
    missing = F.from_json("body", "generations BIGINT")["generations"]
    return events.where(F.col("kind") == AbortedEvent.KIND).select(
        *GROUP, _hour(_ms(F.col("timestamp"))).alias("hour"), F.coalesce(missing, F.lit(1)).alias("aborted")
    )


def _served(generations: DataFrame, events: DataFrame, only: GroupDays | None) -> DataFrame:
    """Return partition-seconds and skew of each generation, until the next one, by hour."""
    skew = F.when(F.col("closes_episode"), F.col("skew_ratio")).alias("skew_ratio")
    spans = generation_spans(generations, events, "closes_episode", "skew_ratio")
    return _by_hour(spans, only).select(*GROUP, "hour", (F.col("seconds") * F.col("partitions")).alias("served"), skew)


def _stalled(episodes: DataFrame, only: GroupDays | None) -> DataFrame:
    """Return each episode's stalled partition-seconds by hour, spread evenly over the time of its longest stall."""
    end = _ms(F.col("completed_at"))
    length = F.round(F.least(F.col("stall_seconds") * 1000, F.lit(float(INTERVAL_HOURS_MAX * _HOUR_MS))))
    length = F.greatest(length.cast("long"), F.lit(1))
    spans = episodes.where("stall_seconds > 0").withColumns({"begin": end - length, "end": end})
    share = F.col("stalled_partition_seconds") * (F.col("seconds") * 1000 / (F.col("end") - F.col("begin")))
    # Before a group's first assignment its partitions are unknown, so the stall of its start is added to served time.
    started = F.when(F.col("trigger") == Trigger.GROUP_STARTED.value, share)
    return _by_hour(spans, only).select(*GROUP, "hour", share.alias("stalled"), started.alias("served"))


def _storms(episodes: DataFrame) -> DataFrame:
    """Return the storms, each in the hour in which it begins."""
    storms = storm_windows(episodes).where(F.col("rebalances") >= STORM_REBALANCES)
    return storms.select(*GROUP, _hour(_ms(F.col("session.start"))).alias("hour"), F.lit(1).alias("storms"))


def storm_windows(episodes: DataFrame) -> DataFrame:
    """Return each series of rebalances of a group: its ``session`` (start and end) and the number of ``rebalances``.

    The end is `STORM_GAP_SECONDS` after the last rebalance.
    """
    window = F.session_window("completed_at", f"{STORM_GAP_SECONDS} seconds").alias("session")
    return episodes.where("member_count > 0").groupBy(*GROUP, window).agg(F.count("*").alias("rebalances"))


def _by_hour(spans: DataFrame, only: GroupDays | None) -> DataFrame:
    """Return a row for each ``hour`` between ``begin`` and ``end``, with the ``seconds`` of the span in that hour."""
    begin = F.greatest(F.col("begin"), F.col("end") - INTERVAL_HOURS_MAX * _HOUR_MS)
    first, last = _hour(F.col("begin")), _hour(F.col("end"))
    if only is not None:
        day = 24 * F.unix_date("day")
        spans = spans.drop("day").join(F.broadcast(only.keys), [*GROUP]).where((first < day + 24) & (last >= day))
        first, last = F.greatest(first, day), F.least(last, day + 23)
    hours = F.sequence(first, last)
    hour_begins = F.col("hour") * _HOUR_MS
    inside = F.least(F.col("end"), hour_begins + _HOUR_MS) - F.greatest(F.col("begin"), hour_begins)
    return (
        spans.where("end > begin")
        .withColumn("begin", begin)
        .where(first <= last)
        .withColumn("hour", F.explode(hours))
        .withColumn("seconds", inside / 1000)
        .where("seconds > 0")
    )


def _ms(moment: Column) -> Column:
    """Return epoch milliseconds; event times are whole milliseconds, so differences are exact."""
    return F.unix_millis(moment)


def _hour(epoch_ms: Column) -> Column:
    """Return the number of hours since the epoch."""
    return F.floor(epoch_ms / _HOUR_MS)
