"""Reads a report's rows from the tables: Spark adds up, what comes back is small enough to draw."""

from __future__ import annotations

import datetime as dt
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, Row, Window, WindowSpec
from pyspark.sql import functions as F  # noqa: N812 - as all the world calls it

from rebalance_agent.pipeline.errors import PipelineError
from rebalance_agent.pipeline.report.members import MemberRow, owned_by_name
from rebalance_agent.pipeline.report.periods import periods
from rebalance_agent.pipeline.report.rows import (
    DETAILS_MAX,
    EPISODES_MAX,
    GROUPS_MAX,
    OWNERS_MAX,
    OWNERS_MEMBERS_MAX,
    BaselineRow,
    CostRow,
    DeployRow,
    EpisodeRow,
    GroupDetail,
    GroupKey,
    GroupRow,
    OwnersRow,
    Report,
    StormRow,
    WeekRow,
    WhatIfRow,
)
from rebalance_agent.pipeline.tables import Tables

__all__ = ["DEPLOYS_MAX", "STORMS_MAX", "collect"]

DEPLOYS_MAX = 2_000
"""Deploys that are told of, the dearest."""

STORMS_MAX = 5_000
"""Stormy hours that are told of, the latest."""

_GROUP = ("cluster_id", "group")


def collect(tables: Tables, made_at: dt.datetime, *, details: int = DETAILS_MAX) -> Report:
    """The whole report; ``details``: how many groups get pictures of their own.

    Raises:
        PipelineError: there is no generation.
    """
    generations = tables.read("generations")
    episodes = generations.where("closes_episode")
    since, until, period_s = periods(*_span(episodes))
    period = F.floor((F.unix_timestamp("completed_at") - int(since.timestamp())) / period_s).cast("int")
    told = episodes.withColumn("period", period)
    summed = _groups(told, tables)
    worst = summed.orderBy(F.desc("cost"), *_GROUP).limit(GROUPS_MAX).collect()
    groups = _group_rows(worst, _sparks(told, worst, int((until - since).total_seconds()) // period_s))
    deploys, deploys_in_all = _deploys(episodes)
    return Report(
        since=since,
        until=until,
        period_seconds=period_s,
        groups=groups,
        costs=_costs(told),
        week=_week(episodes),
        storms=_storms(tables),
        deploys=deploys,
        details=_details(tables, generations, [each.key for each in groups[:details]]),
        groups_in_all=summed.count(),
        deploys_in_all=deploys_in_all,
        made_at=made_at,
    )


def _span(episodes: DataFrame) -> tuple[dt.datetime, dt.datetime]:
    """The first and the last moment, in UTC."""
    row = episodes.agg(F.unix_millis(F.min("completed_at")), F.unix_millis(F.max("completed_at"))).first()
    if row is None or row[0] is None:
        raise PipelineError("there is no generation to report of; run `rebalance-agent pipeline aggregate` first")
    return _at(row[0]), _at(row[1])


def _at(epoch_ms: int) -> dt.datetime:
    return dt.datetime.fromtimestamp(epoch_ms / 1000, dt.UTC)


def _ms(column: str) -> Column:
    """Times travel as numbers: Python's own have no zone there."""
    return F.unix_millis(column).alias(column)


def _cost() -> Column:
    return F.coalesce(F.sum("stalled_partition_seconds"), F.lit(0.0))


# The fleet


def _costs(told: DataFrame) -> tuple[CostRow, ...]:
    rows = told.groupBy("period", "trigger").agg(F.count("*").alias("rebalances"), _cost().alias("cost")).collect()
    return tuple(CostRow(*each) for each in sorted(rows))


def _week(episodes: DataFrame) -> tuple[WeekRow, ...]:
    hour = (F.weekday("completed_at") * 24 + F.hour("completed_at")).alias("hour_of_week")
    rows = episodes.groupBy(hour).agg(F.count("*").alias("rebalances"), _cost().alias("cost")).collect()
    return tuple(WeekRow(*each) for each in sorted(rows))


def _storms(tables: Tables) -> tuple[StormRow, ...]:
    rows = (
        tables.read("group_hours")
        .where("storms > 0")
        .orderBy(F.desc("hour"), *_GROUP)
        .limit(STORMS_MAX)
        .select(*_GROUP, _ms("hour"), "rebalances")
        .collect()
    )
    return tuple(StormRow(each[0], each[1], _at(each[2]), each[3]) for each in rows)


def _deploys(episodes: DataFrame) -> tuple[tuple[DeployRow, ...], int]:
    deploys = (
        episodes.where("rollout IS NOT NULL")
        .groupBy(*_GROUP, "rollout")
        .agg(
            F.unix_millis(F.min(F.coalesce("started_at", "completed_at"))),
            F.unix_millis(F.max("completed_at")),
            F.count("*"),
            _cost().alias("cost"),
            F.max("stall_seconds"),
        )
        .persist()
    )
    try:
        rows = deploys.orderBy(F.desc("cost"), "rollout").limit(DEPLOYS_MAX).collect()
        number = deploys.count()
    finally:
        deploys.unpersist()
    return tuple(DeployRow(each[0], each[1], _at(each[3]), _at(each[4]), *each[5:]) for each in rows), number


# Groups


def _groups(told: DataFrame, tables: Tables) -> DataFrame:
    """A row for each group, with what its generations, its hours and its recommendation say."""
    when = F.struct("completed_at", "generation")
    peopled = F.when(F.col("member_count") > 0, when)
    last = F.struct("group_type", "protocol", "assignor", "member_count", "partition_count")
    sums = told.groupBy(*_GROUP).agg(
        F.count("*").alias("rebalances"),
        _cost().alias("cost"),
        F.count_if("noop").alias("noops"),
        F.sum("moved").alias("moved"),
        F.coalesce(F.sum("excess"), F.lit(0)).alias("excess"),
        F.percentile_approx("stall_seconds", 0.95).alias("stall_p95"),
        F.max("stall_seconds").alias("stall_max"),
        F.max("skew_ratio").alias("skew_max"),
        F.mode("trigger", deterministic=True).alias("trigger"),
        F.coalesce(F.max_by(last, peopled), F.max_by(last, when)).alias("last"),
        F.max_by("flapping", when).alias("flapping"),
    )
    hours = (
        tables.read("group_hours")
        .groupBy(*_GROUP)
        .agg(
            F.sum("aborted").alias("aborted"),
            F.sum("storms").alias("storms"),
            F.sum("partition_seconds").alias("partition_seconds"),
        )
    )
    advice = tables.read("recommendations").select(
        *_GROUP, "strategy", "static_membership", "saved_partition_seconds", "saved_moves", "sentence"
    )
    return sums.join(hours, [*_GROUP], "left").join(advice, [*_GROUP], "left")


def _sparks(told: DataFrame, groups: Sequence[Row], periods_in_all: int) -> Mapping[GroupKey, list[float]]:
    """What each of these groups cost in each period."""
    costs = {(row.cluster_id, row.group): [0.0] * periods_in_all for row in groups}
    for cluster_id, group, period, cost in told.groupBy(*_GROUP, "period").agg(_cost()).toLocalIterator():
        if mine := costs.get((cluster_id, group)):
            mine[period] = cost
    return costs


def _group_rows(rows: Sequence[Row], sparks: Mapping[GroupKey, list[float]]) -> tuple[GroupRow, ...]:
    return tuple(
        GroupRow(
            cluster_id=row.cluster_id,
            group=row.group,
            group_type=row.last.group_type,
            protocol=row.last.protocol,
            assignor=row.last.assignor,
            members=row.last.member_count,
            partitions=row.last.partition_count,
            rebalances=row.rebalances,
            stalled_partition_seconds=row.cost,
            noops=row.noops,
            aborted=row.aborted or 0,
            storms=row.storms or 0,
            moved=row.moved or 0,
            moved_excess=row.excess,
            partition_seconds=row.partition_seconds,
            stall_p95=row.stall_p95,
            stall_max=row.stall_max,
            skew_max=row.skew_max,
            trigger=row.trigger,
            flapping=tuple(row.flapping or ()),
            costs=tuple(sparks.get((row.cluster_id, row.group), ())),
            recommended=row.strategy,
            static_membership=bool(row.static_membership),
            saved_partition_seconds=row.saved_partition_seconds,
            saved_moves=row.saved_moves,
            sentence=row.sentence,
        )
        for row in rows
    )


# Pictures of one group


def _details(tables: Tables, generations: DataFrame, keys: list[GroupKey]) -> tuple[GroupDetail, ...]:
    if not keys:
        return ()
    wanted = F.broadcast(tables.spark.createDataFrame(keys, "cluster_id string, `group` string"))
    mine = generations.join(wanted, [*_GROUP])
    episodes = _latest(mine.where("closes_episode"), EPISODES_MAX)
    columns = [each for each in _EPISODE if each != "completed_at"]
    by_group = _by_group(episodes.select(*_GROUP, _ms("completed_at"), *columns).orderBy("completed_at", "generation"))
    owners = _owners(tables, _of_few(_latest(mine.where("member_count > 0"), OWNERS_MAX)))
    whatif = _by_group(tables.read("whatif").join(wanted, [*_GROUP]))
    baselines = _by_group(tables.read("baselines").join(wanted, [*_GROUP]).orderBy("hour_of_week"))
    return tuple(
        GroupDetail(
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


def _newest_first() -> WindowSpec:
    return Window.partitionBy(*_GROUP).orderBy(F.desc("completed_at"), F.desc("generation"))


def _of_few(generations: DataFrame) -> DataFrame:
    """The latest that have no more than `OWNERS_MEMBERS_MAX` members together, and the very latest however many."""
    so_far = F.sum("member_count").over(_newest_first().rowsBetween(Window.unboundedPreceding, Window.currentRow))
    few = (F.col("_so_far") <= OWNERS_MEMBERS_MAX) | (F.col("_so_far") == F.col("member_count"))
    return generations.withColumn("_so_far", so_far).where(few).drop("_so_far")


def _latest(frame: DataFrame, most: int) -> DataFrame:
    order = _newest_first()
    return frame.withColumn("_place", F.row_number().over(order)).where(F.col("_place") <= most).drop("_place")


def _by_group(frame: DataFrame) -> Mapping[GroupKey, list[Row]]:
    rows: dict[GroupKey, list[Row]] = defaultdict(list)
    for row in frame.collect():
        rows[row.cluster_id, row.group].append(row)
    return rows


def _episode(row: Row) -> EpisodeRow:
    values = {name: row[name] for name in _EPISODE}
    values["completed_at"] = _at(row.completed_at)
    values["slowest"] = values.pop("slowest_client_id")
    return EpisodeRow(**values)


def _owners(tables: Tables, generations: DataFrame) -> Mapping[GroupKey, Iterable[OwnersRow]]:
    """Joined by the generation's event id; a generation without rows of members is left out."""
    members = tables.read("members").select(
        "event_id", F.struct("member_id", "client_id", "partitions", "instance_id", "pod").alias("member")
    )
    rows = (
        generations.select("event_id", *_GROUP, "generation", _ms("completed_at"), "trigger")
        .join(members, "event_id")
        .groupBy("event_id", *_GROUP, "generation", "completed_at", "trigger")
        .agg(F.collect_list("member").alias("members"))
        .orderBy("completed_at", "generation")
    )
    owners: dict[GroupKey, list[OwnersRow]] = defaultdict(list)
    for key, mine in _by_group(rows).items():
        named = owned_by_name([[MemberRow(*each) for each in row.members] for row in mine])
        owners[key] = [
            OwnersRow(row.generation, _at(row.completed_at), row.trigger, partitions)
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
