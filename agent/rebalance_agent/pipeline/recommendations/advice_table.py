"""Computes table `advice`: every advice that a run gave, with its state and its saving as of the end of the history.

The end of the history is the newest generation of all groups, not the time of the run, so that a repeated run gives the
same result. No generation counts as later than the time at which it was read (`cluster_ends`): one event with a wrong
time must not end the advice of all groups.
"""

from __future__ import annotations

from functools import reduce

import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias
from pyspark.sql.types import LongType, StructField, StructType, TimestampType

from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.pipeline.recommendations.advice_rows import group_rows
from rebalance_agent.pipeline.recommendations.advice_state import AdviceState
from rebalance_agent.pipeline.recommendations.given_advice import AdviceKind
from rebalance_agent.pipeline.table_schema import GROUP
from rebalance_agent.pipeline.tables.advice_schemas import ADVICE
from rebalance_agent.pipeline.tables.generation_spans import cluster_ends

__all__ = ["MISSED_MIN", "advice_states", "with_withheld"]

MISSED_MIN = 3
"""Minimum number of groups in which advice must miss its prediction before it is withheld from other groups."""

_IN_MS = StructType(
    [
        StructField(field.name, LongType() if isinstance(field.dataType, TimestampType) else field.dataType)
        for field in ADVICE.schema
    ]
)
"""The columns of the table, with times as milliseconds, as workers read and write them."""

_TIMES = tuple(field.name for field in ADVICE.schema if isinstance(field.dataType, TimestampType))
_SAME_ADVICE = ("kind", "strategy")
_WITHHELD_FROM = (AdviceState.OPEN.value, AdviceState.IGNORED.value)


def advice_states(
    earlier: DataFrame, recommendations: DataFrame, generations: DataFrame, members: DataFrame, events: DataFrame
) -> DataFrame:
    """Return the state of each group's advice, from the rows of the last run (``earlier``) and the other tables.

    `with_withheld` evaluates the result more than once, so persist it.
    """
    newest = cluster_ends(events.where(F.col("kind") == GenerationEvent.KIND)).agg(F.max("end")).first()
    if newest is None or newest[0] is None:
        return earlier
    as_of_ms = int(newest[0])

    def rows(given: pd.DataFrame, history: pd.DataFrame) -> pd.DataFrame:
        return group_rows(given, history, as_of_ms, _IN_MS.names)

    given = _given(recommendations).unionByName(
        _in_ms(earlier).withColumn("now", F.lit(False)), allowMissingColumns=True
    )
    groups = given.select(*GROUP).distinct()
    history = _history(generations.join(groups, [*GROUP], "left_semi"), members)
    found = given.groupBy(*GROUP).cogroup(history.groupBy(*GROUP)).applyInPandas(rows, _IN_MS)
    return found.withColumns({name: F.timestamp_millis(name) for name in _TIMES})


def _in_ms(rows: DataFrame) -> DataFrame:
    return rows.withColumns({name: F.unix_millis(name) for name in _TIMES})


def _given(recommendations: DataFrame) -> DataFrame:
    """Return one row for each change that is recommended now; a share that saves nothing is null."""
    parts = (
        (AdviceKind.STRATEGY, "strategy IS NOT NULL", F.col("strategy"), "strategy_share"),
        (AdviceKind.STATIC_MEMBERSHIP, "static_membership", F.lit(None).cast("string"), "static_share"),
    )
    frames = [
        recommendations.where(condition).select(
            *GROUP,
            F.lit(kind.value).alias("kind"),
            strategy.alias("strategy"),
            F.when(F.col(share) > 0, F.col(share)).alias("saved_share"),
            F.lit(True).alias("now"),
        )
        for kind, condition, strategy, share in parts
    ]
    return reduce(DataFrame.unionByName, frames)


def _history(generations: DataFrame, members: DataFrame) -> DataFrame:
    """Return the rebalances. ``static``: whether all members have an instance id; null without members."""
    static = (
        members.join(generations, "event_id", "left_semi")
        .groupBy("event_id")
        .agg(F.bool_and(F.col("instance_id").isNotNull()).alias("static"))
    )
    return (
        generations.where("closes_episode")
        .join(static, "event_id", "left")
        .select(
            *GROUP,
            *("generation", "assignor", "static", "stalled_partition_seconds"),
            F.unix_millis("completed_at").alias("at_ms"),
        )
    )


def with_withheld(rows: DataFrame) -> DataFrame:
    """Return the rows of table ``advice`` for rows of `advice_states`, with the advice that is now withheld.

    Advice is withheld if it missed its prediction in `MISSED_MIN` groups or more, and these are at least half of the
    groups with a measured saving.
    """
    judged = rows.where("missed IS NOT NULL").groupBy(*_SAME_ADVICE)
    counted = judged.agg(F.count("*").alias("judged"), F.count_if("missed").alias("misses"))
    wrong = counted.where((F.col("misses") >= MISSED_MIN) & (2 * F.col("misses") >= F.col("judged")))
    same = [F.col(name).eqNullSafe(F.col(f"wrong_{name}")) for name in _SAME_ADVICE]
    renamed = wrong.withColumnsRenamed({name: f"wrong_{name}" for name in _SAME_ADVICE})
    withheld = F.col("state").isin(*_WITHHELD_FROM) & F.col("misses").isNotNull()
    reason = F.format_string("it saved less than predicted in %d of the %d groups that made it", "misses", "judged")
    columns = {
        "state": F.when(withheld, AdviceState.WITHHELD.value).otherwise(F.col("state")),
        "reason": F.when(withheld, reason).otherwise(F.col("reason")),
    }
    return rows.join(F.broadcast(renamed), same, "left").withColumns(columns).select(*ADVICE.schema.names)
