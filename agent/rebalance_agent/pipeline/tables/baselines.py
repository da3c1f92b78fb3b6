"""Computes table `baselines` from generations: a group's normal stall (seconds) for each hour of the week.

Every percentile is an observed stall, and no high percentile depends on a single rebalance: a 95th percentile needs
twenty rebalances, of which one may be longer. An hour with too few rebalances uses the rebalances of the same hour on
all days, or else of all hours. If these are too few as well, there is no row.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.baseline import (
    EPOCH_HOUR_OF_WEEK,
    HOURS_OF_WEEK,
    BaselineScope,
)
from rebalance_agent.pipeline.percentiles import in_order, percentile
from rebalance_agent.pipeline.table_schema import GROUP
from rebalance_agent.pipeline.tables.schemas import BASELINES

__all__ = ["BaselineSettings", "baselines"]

_DAY_HOURS = 24


@dataclass(frozen=True, slots=True)
class BaselineSettings:
    """The amount of history that a baseline needs.

    ``weeks``: age limit of the rebalances that count. ``samples``: minimum number of rebalances. ``days``: minimum
    number of days on which they happened.

    Raises:
        InvalidInputError: a setting is not positive.
    """

    weeks: int = 8
    samples: int = 20
    days: int = 3

    def __post_init__(self) -> None:
        """Check that all settings are positive."""
        for name in ("weeks", "samples", "days"):
            if getattr(self, name) < 1:
                raise InvalidInputError(name, "must be at least 1")


def baselines(generations: DataFrame, now_ms: int, settings: BaselineSettings | None = None) -> DataFrame:
    """Return the rows of table ``baselines`` for rows of table ``generations``, as of ``now_ms`` (epoch)."""
    settings = settings or BaselineSettings()
    now = F.timestamp_millis(F.lit(now_ms))
    since = F.timestamp_millis(F.lit(now_ms - settings.weeks * HOURS_OF_WEEK * 3_600_000))
    hours = F.floor(F.unix_seconds("completed_at") / 3600)
    stalls = (
        generations.where(F.col("closes_episode") & F.col("stall_seconds").isNotNull())
        .where((F.col("completed_at") >= since) & (F.col("completed_at") <= now))
        .select(
            *GROUP,
            "stall_seconds",
            F.floor(hours / _DAY_HOURS).alias("day"),
            F.pmod(hours + EPOCH_HOUR_OF_WEEK, F.lit(HOURS_OF_WEEK)).cast("int").alias("hour_of_week"),
        )
    )
    slots = (
        stalls.withColumn("slot", F.explode(F.array(*_slots(F.col("hour_of_week")).values())))
        .groupBy(*GROUP, "slot")
        .agg(in_order("stall_seconds").alias("stalls"), F.size(F.collect_set("day")).alias("days"))
        .withColumn("samples", F.size("stalls").cast("long"))
        .where((F.col("samples") >= settings.samples) & (F.col("days") >= settings.days))
        .withColumn("stall_p50", percentile(F.col("stalls"), 50))
        .withColumns({f"stall_p{percent}": _high_percentile(percent) for percent in (95, 99)})
    )
    values = F.struct("samples", "stall_p50", "stall_p95", "stall_p99")
    groups = slots.groupBy(*GROUP).agg(F.map_from_entries(F.collect_list(F.struct("slot", values))).alias("by_slot"))
    by_hour = groups.withColumn("hour_of_week", F.explode(F.sequence(F.lit(0), F.lit(HOURS_OF_WEEK - 1))))
    return (
        by_hour.withColumn("narrowest", _narrowest(F.col("by_slot"), F.col("hour_of_week")))
        .where("narrowest IS NOT NULL")
        .select(*GROUP, "hour_of_week", "narrowest.scope", "narrowest.values.*", now.alias("computed_at"))
        .select(*BASELINES.schema.names)
    )


def _slots(hour_of_week: Column) -> Mapping[BaselineScope, Column]:
    """Return each scope's slot number for an hour of the week, the narrowest scope first."""
    return {
        BaselineScope.HOUR_OF_WEEK: hour_of_week,
        BaselineScope.HOUR_OF_DAY: HOURS_OF_WEEK + hour_of_week % _DAY_HOURS,
        BaselineScope.WEEK: F.lit(HOURS_OF_WEEK + _DAY_HOURS),
    }


def _high_percentile(percent: int) -> Column:
    """Return a percentile of the stalls; null if samples are too few for a stall above the percentile."""
    enough = F.col("samples") * (100 - percent) >= 100  # noqa: PLR2004 - percent
    return F.when(enough, percentile(F.col("stalls"), percent))


def _narrowest(by_slot: Column, hour_of_week: Column) -> Column:
    def scoped(scope: BaselineScope, slot: Column) -> Column:
        values = F.try_element_at(by_slot, slot)
        return F.when(values.isNotNull(), F.struct(F.lit(scope.value).alias("scope"), values.alias("values")))

    return F.coalesce(*(scoped(scope, slot) for scope, slot in _slots(hour_of_week).items()))
