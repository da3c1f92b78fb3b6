"""Reads the data for the charts of single groups: latest rebalances, partition owners, what-if and baselines."""

from __future__ import annotations

import datetime as dt
import inspect
from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeVar

from pyspark.sql import DataFrame, Row, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.pipeline.recommendations.advice_words import AdviceRow
from rebalance_agent.pipeline.report.member_names import MemberRow, owned_by_name
from rebalance_agent.pipeline.report.queries.followed_advice import followed_advice
from rebalance_agent.pipeline.report.queries.report_columns import collected
from rebalance_agent.pipeline.report.report_rows import (
    EPISODES_MAX,
    OWNERS_MAX,
    OWNERS_MEMBERS_MAX,
    BaselineRow,
    ChangeRow,
    EpisodeRow,
    GroupKey,
    OwnersRow,
    ReportGroup,
    WhatIfRow,
)
from rebalance_agent.pipeline.table_schema import GROUP
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables

__all__ = ["detail_rows"]

_Value = TypeVar("_Value")


class _Generation(NamedTuple):
    generation: int
    completed_at: dt.datetime
    trigger: str
    members: list[Row]


def detail_rows(tables: DeltaTables, generations: DataFrame, keys: list[GroupKey]) -> tuple[ReportGroup, ...]:
    """Return the chart data of the groups in ``keys``, in their order.

    ``generations``: all rows of that table, including those that do not close an episode.
    """
    if not keys:
        return ()
    selected = F.broadcast(tables.spark.createDataFrame(keys, "cluster_id string, `group` string"))
    selected_generations = generations.join(selected, [*GROUP])
    episodes = _latest(selected_generations.where("closes_episode"), EPISODES_MAX)
    episodes_of = _by_group(EpisodeRow, episodes.orderBy("completed_at", "generation"))
    owners = _owners(tables, _within_member_limit(_latest(selected_generations.where("member_count > 0"), OWNERS_MAX)))
    whatif = _by_group(WhatIfRow, tables.read("whatif").join(selected, [*GROUP]))
    baselines = _by_group(BaselineRow, tables.read("baselines").join(selected, [*GROUP]).orderBy("hour_of_week"))
    changes = _by_group(ChangeRow, tables.read("changes").join(selected, [*GROUP]).orderBy("changed_at", "signal"))
    advice: dict[GroupKey, list[AdviceRow]] = defaultdict(list)
    for row in followed_advice(tables.read("advice").join(selected, [*GROUP])):
        advice[row.key].append(row)
    return tuple(
        ReportGroup(
            key,
            tuple(episodes_of[key]),
            tuple(owners[key]),
            tuple(whatif[key]),
            tuple(baselines[key]),
            tuple(changes[key]),
            tuple(advice[key]),
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


def _by_group(kind: Callable[..., _Value], frame: DataFrame) -> Mapping[GroupKey, list[_Value]]:
    """Return each group's rows as values of ``kind``, whose fields are columns of ``frame``."""
    names = inspect.signature(kind).parameters
    values: dict[GroupKey, list[_Value]] = defaultdict(list)
    for cluster_id, group, *columns in collected(frame, *GROUP, *names):
        values[cluster_id, group].append(kind(*columns))
    return values


def _owners(tables: DeltaTables, generations: DataFrame) -> Mapping[GroupKey, list[OwnersRow]]:
    """Return each group's generations with the partitions of their members; those without members are left out."""
    members = tables.read("members").select(
        "event_id", F.struct("member_id", "client_id", "partitions", "instance_id", "pod").alias("member")
    )
    rows = (
        generations.select("event_id", *GROUP, "generation", "completed_at", "trigger")
        .join(members, "event_id")
        .groupBy("event_id", *GROUP, "generation", "completed_at", "trigger")
        .agg(F.collect_list("member").alias("members"))
        .orderBy("completed_at", "generation")
    )
    owners: dict[GroupKey, list[OwnersRow]] = defaultdict(list)
    for key, group_generations in _by_group(_Generation, rows).items():
        named = owned_by_name([[MemberRow(*member) for member in row.members] for row in group_generations])
        owners[key] = [
            OwnersRow(row.generation, row.completed_at, row.trigger, partitions)
            for row, partitions in zip(group_generations, named, strict=True)
        ]
    return owners
