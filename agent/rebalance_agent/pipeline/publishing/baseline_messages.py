"""Makes one Kafka record for each group: its baselines, and what its recommended changes save."""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.model.baseline import BASELINE_SCHEMA_VERSION, GroupBaseline
from rebalance_agent.pipeline.recommendations.advice_state import AdviceState
from rebalance_agent.pipeline.table_schema import GROUP

__all__ = ["baseline_messages"]

_NOT_MADE = (AdviceState.OPEN.value, AdviceState.IGNORED.value)


def baseline_messages(baselines: DataFrame, advice: DataFrame, now_ms: int) -> DataFrame:
    """Return ``key`` and ``value`` of one record for each group of the tables; see `model.baseline`.

    ``baselines``, ``advice``: rows of these tables; ``now_ms``: the time of the record (epoch ms). A group without
    baselines has a record if it has recommended changes that it made and kept, or that it can still make.
    """
    groups = _hours(baselines).join(_savings(advice), [*GROUP], "full")
    no_hours = F.array().cast(groups.schema["hours"].dataType)
    body = F.struct(
        F.lit(GroupBaseline.KIND).alias("kind"),
        F.lit(BASELINE_SCHEMA_VERSION).alias("schema_version"),
        *GROUP,
        F.lit(now_ms).alias("computed_ms"),
        F.coalesce("hours", no_hours).alias("hours"),
        "savings",
    )
    return groups.select(F.concat_ws(":", *GROUP).alias("key"), F.to_json(body).alias("value"))


def _hours(baselines: DataFrame) -> DataFrame:
    hour = F.struct(
        "hour_of_week",
        "scope",
        "samples",
        *(F.col(f"stall_p{percent}").alias(f"stall_p{percent}_seconds") for percent in (50, 95, 99)),
    )
    return baselines.groupBy(*GROUP).agg(F.sort_array(F.collect_list(hour)).alias("hours"))


def _savings(advice: DataFrame) -> DataFrame:
    """Return the sums of each group's changes; see `model.baseline.AdviceSavings`."""
    taken, is_open = F.col("state") == AdviceState.TAKEN.value, F.col("state").isin(*_NOT_MADE)
    measured = taken & F.col("realised").isNotNull()
    sums = {
        "taken": F.count_if(taken),
        "measured": F.count_if(measured),
        "realised": _sum("realised", measured),
        "predicted": _sum("predicted", measured),
        "open": F.count_if(is_open),
        "open_predicted": _sum("predicted", is_open),
    }
    columns = [column.alias(name) for name, column in sums.items()]
    return advice.where(taken | is_open).groupBy(*GROUP).agg(F.struct(*columns).alias("savings"))


def _sum(name: str, condition: Column) -> Column:
    return F.coalesce(F.sum(F.when(condition, F.col(name))), F.lit(0.0))
