"""Reads the data for the charts of single groups: latest rebalances, partition owners, what-if and baselines."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from pyspark.sql import DataFrame, Row, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.pipeline.report.member_names import MemberRow, owned_by_name
from rebalance_agent.pipeline.report.report_columns import epoch_ms, moment
from rebalance_agent.pipeline.report.report_rows import (
    EPISODES_MAX,
    OWNERS_MAX,
    OWNERS_MEMBERS_MAX,
    BaselineRow,
    EpisodeRow,
    GroupKey,
    OwnersRow,
    ReportGroup,
    WhatIfRow,
)
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.pipeline.tables.schemas import GROUP

__all__ = ["detail_rows"]

_EPISODE = (
    "generation",
    "completed_at",
    "trigger",
    "join_seconds",
    "sync_seconds",
    "reconcile_seconds",
    "stall_seconds",
    "stall_basis",
    "stalled_partition_seconds",
    "skew_ratio",
    "moved",
    "needed",
    "slowest_client_id",
)


def detail_rows(tables: DeltaTables, generations: DataFrame, keys: list[GroupKey]) -> tuple[ReportGroup, ...]:
    """Return the chart data of the groups in ``keys``, in their order.

    ``generations``: all rows of that table, including those that do not close an episode.
    """
    if not keys:
        return ()
    selected = F.broadcast(tables.spark.createDataFrame(keys, "cluster_id string, `group` string"))
    selected_generations = generations.join(selected, [*GROUP])
    episodes = _latest(selected_generations.where("closes_episode"), EPISODES_MAX)
    columns = [each for each in _EPISODE if each != "completed_at"]
    by_group = _by_group(
        episodes.select(*GROUP, epoch_ms("completed_at"), *columns).orderBy("completed_at", "generation")
    )
    owners = _owners(tables, _within_member_limit(_latest(selected_generations.where("member_count > 0"), OWNERS_MAX)))
    whatif = _by_group(tables.read("whatif").join(selected, [*GROUP]))
    baselines = _by_group(tables.read("baselines").join(selected, [*GROUP]).orderBy("hour_of_week"))
    return tuple(
        ReportGroup(
            key=key,
            episodes=tuple(_episode(each) for each in by_group[key]),
            owners=tuple(owners[key]),
            whatif=tuple(_what_if(each) for each in whatif[key]),
            baselines=tuple(
                BaselineRow(each.hour_of_week, each.samples, each.stall_p50, each.stall_p95) for each in baselines[key]
            ),
        )
        for key in keys
    )


def _newest_first() -> WindowSpec:
    return Window.partitionBy(*GROUP).orderBy(F.desc("completed_at"), F.desc("generation"))


def _within_member_limit(generations: DataFrame) -> DataFrame:
    """Return the latest generations with at most `OWNERS_MEMBERS_MAX` members in all, but at least the latest one."""
    so_far = F.sum("member_count").over(_newest_first().rowsBetween(Window.unboundedPreceding, Window.currentRow))
    allowed = (F.col("_so_far") <= OWNERS_MEMBERS_MAX) | (F.col("_so_far") == F.col("member_count"))
    return generations.withColumn("_so_far", so_far).where(allowed).drop("_so_far")


def _latest(frame: DataFrame, rows_max: int) -> DataFrame:
    order = _newest_first()
    return (
        frame.withColumn("_row_number", F.row_number().over(order))
        .where(F.col("_row_number") <= rows_max)
        .drop("_row_number")
    )


def _by_group(frame: DataFrame) -> Mapping[GroupKey, list[Row]]:
    rows: dict[GroupKey, list[Row]] = defaultdict(list)
    for row in frame.collect():
        rows[row.cluster_id, row.group].append(row)
    return rows


def _episode(row: Row) -> EpisodeRow:
    values = {name: row[name] for name in _EPISODE}
    values["completed_at"] = moment(row.completed_at)
    values["slowest"] = values.pop("slowest_client_id")
    return EpisodeRow(**values)


def _owners(tables: DeltaTables, generations: DataFrame) -> Mapping[GroupKey, Iterable[OwnersRow]]:
    """Return each group's generations with the partitions of their members; those without members are left out."""
    members = tables.read("members").select(
        "event_id", F.struct("member_id", "client_id", "partitions", "instance_id", "pod").alias("member")
    )
    rows = (
        generations.select("event_id", *GROUP, "generation", epoch_ms("completed_at"), "trigger")
        .join(members, "event_id")
        .groupBy("event_id", *GROUP, "generation", "completed_at", "trigger")
        .agg(F.collect_list("member").alias("members"))
        .orderBy("completed_at", "generation")
    )
    owners: dict[GroupKey, list[OwnersRow]] = defaultdict(list)
    for key, mine in _by_group(rows).items():
        named = owned_by_name([[MemberRow(*each) for each in row.members] for row in mine])
        owners[key] = [
            OwnersRow(row.generation, moment(row.completed_at), row.trigger, partitions)
            for row, partitions in zip(mine, named, strict=True)
        ]
    return owners


def _what_if(row: Row) -> WhatIfRow:
    return WhatIfRow(
        strategy=row.strategy,
        generations=row.generations,
        refused=row.refused,
        moved=row.moved,
        skew_max=row.skew_max,
        stalled_partition_seconds=row.stalled_partition_seconds,
        recorded_moved=row.recorded_moved,
        recorded_stalled_partition_seconds=row.recorded_stalled_partition_seconds,
    )
