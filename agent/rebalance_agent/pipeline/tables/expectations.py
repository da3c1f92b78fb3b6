"""Checks the tables in each run and computes the rows of table `expectations`.

A failed expectation of severity ``error`` means that rows are wrong: a defect of the pipeline, or another program wrote
to the tables. A ``warning`` is about the observed data: a generation is missing because no observer ran, and cannot be
recovered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce

from pyspark.sql import Column, DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.model.baseline import HOURS_OF_WEEK
from rebalance_agent.pipeline.tables.cross_checks import steps, with_hours, with_members
from rebalance_agent.pipeline.tables.schemas import (
    BASELINES,
    EVENTS,
    EVENTS_REJECTED,
    EXPECTATIONS,
    FIDELITY,
    GENERATIONS,
    GROUP_HOURS,
    MEMBERS,
    RECOMMENDATIONS,
    TABLES,
    WHATIF,
)

__all__ = ["SCHEMA", "Severity", "broken", "expectations"]

SCHEMA = EXPECTATIONS.schema


class Severity(StrEnum):
    """Whether a failed expectation means wrong tables (error) or incomplete observation (warning)."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class _Expectation:
    """A condition on every row. ``holds``: SQL, null counts as false. ``columns``: shown of an example that fails."""

    name: str
    holds: str
    columns: tuple[str, ...]
    severity: Severity = Severity.ERROR

    @property
    def fails(self) -> Column:
        return F.expr(f"NOT coalesce({self.holds}, false)")


def _rising(*names: str) -> str:
    """Return SQL: these columns, without nulls, are not negative and do not decrease."""
    known = f"filter(array(0D, {', '.join(names)}), each -> each IS NOT NULL)"
    return f"{known} = array_sort({known})"


_LENGTHS = ("join_seconds", "sync_seconds", "reconcile_seconds", "stall_seconds", "slowest_seconds")
_IN_ORDER = " AND ".join(
    f"coalesce({each}, true)" for each in ("started_at <= completed_at", *(f"{name} >= 0" for name in _LENGTHS))
)
_ALL_TRIGGERS = "aggregate(map_values(by_trigger), 0L, (total, count) -> total + count)"

_ID = ("event_id",)
_OF_EVENTS = (
    _Expectation("parts are numbered", "part >= 0 AND part < parts", _ID),
    _Expectation("days are those of timestamps", "day = to_date(timestamp)", _ID),
)
_OF_GENERATIONS = (
    _Expectation("times are ordered", _IN_ORDER, _ID),
    _Expectation("only closing rows have a stall", "closes_episode OR stall_seconds IS NULL", _ID),
    _Expectation("an episode begins before it ends", "episode_generation <= generation", _ID),
)
_OF_STEPS = (
    _Expectation(
        "generations are consecutive but for aborted ones",
        "generation - previous - 1 = aborted",
        ("cluster_id", "group", "previous", "generation", "aborted"),
        Severity.WARNING,
    ),
)
_OF_MEMBERS = (
    _Expectation("each generation has its members", "members = member_count", _ID),
    # Partitions without owner count as unassigned; a share group's partition may have several owners.
    _Expectation("partitions are conserved", "partitions + unassigned >= partition_count", _ID),
)
_OF_SUMS = (_Expectation("rebalances are the closed episodes", "rebalances = episodes", GROUP_HOURS.keys),)
_OF_HOURS = (
    _Expectation("rebalances are those of all triggers", f"rebalances = {_ALL_TRIGGERS}", GROUP_HOURS.keys),
    _Expectation("availability is a share", "coalesce(availability BETWEEN 0 AND 1, true)", GROUP_HOURS.keys),
    _Expectation(
        "percentiles do not fall", _rising("stall_p50", "stall_p95", "stall_p99", "stall_max"), GROUP_HOURS.keys
    ),
)
_OF_BASELINES = (
    _Expectation("percentiles do not fall", _rising("stall_p50", "stall_p95", "stall_p99"), BASELINES.keys),
    _Expectation("hours are those of a week", f"hour_of_week BETWEEN 0 AND {HOURS_OF_WEEK - 1}", BASELINES.keys),
)

_OF_REJECTED = (_Expectation("reasons begin with a code", "reason RLIKE '^[a-z_]+: .'", EVENTS_REJECTED.keys),)
_OF_WHATIF = (
    _Expectation("excess is a part of what moved", "coalesce(excess BETWEEN 0 AND moved, true)", WHATIF.keys),
    _Expectation(
        "nothing is said of what was refused",
        "refused IS NULL OR (generations = 0 AND coalesce(moved, skew_mean, stalled_partition_seconds) IS NULL)",
        WHATIF.keys,
    ),
)
_OF_FIDELITY = (
    _Expectation(
        "what must be repeated is repeated",
        "same_moves = checked AND same_skew = checked",
        FIDELITY.keys,
        Severity.WARNING,
    ),
    _Expectation("no more agree than were looked at", "agreeing <= not_comparable", FIDELITY.keys),
)
_OF_RECOMMENDATIONS = (
    _Expectation("a strategy has its protocol", "(strategy IS NULL) = (protocol IS NULL)", RECOMMENDATIONS.keys),
    _Expectation("each group has a sentence", "length(sentence) > 0", RECOMMENDATIONS.keys),
)

_Tables = Mapping[str, DataFrame]


def expectations(tables: _Tables, now_ms: int) -> DataFrame:
    """Return the rows of table ``expectations`` for ``tables`` (by name), as of ``now_ms`` (epoch).

    Expectations that need a table that is not given are skipped. At least one of `schemas.TABLES` must be given.
    """
    work = (*_keys(tables), *_checks(tables))
    results = reduce(DataFrame.unionByName, (_results(table, rows, checks) for table, rows, checks in work))
    return results.withColumn("ran_at", F.timestamp_millis(F.lit(now_ms))).select(*SCHEMA.names)


def broken(results: Iterable[Row], *, strict: bool = False) -> list[Row]:
    """Return the failed expectations that make a run fail: errors and, if ``strict``, warnings."""
    severe = set(Severity) if strict else {Severity.ERROR}
    return [row for row in results if row["failed"] and row["severity"] in severe]


def _results(table: str, rows: DataFrame, checks: Iterable[_Expectation]) -> DataFrame:
    """Return a row for each expectation, from one pass over ``rows``."""
    results = [
        F.struct(
            F.lit(check.name).alias("expectation"),
            F.lit(check.severity.value).alias("severity"),
            F.count("*").alias("checked"),
            F.count_if(check.fails).alias("failed"),
            F.min(F.when(check.fails, F.to_json(F.struct(*check.columns)))).alias("example"),
        )
        for check in checks
    ]
    return rows.agg(F.array(*results).alias("results")).select(F.lit(table).alias("table"), F.inline("results"))


_SINGLE_TABLE = (
    (EVENTS, _OF_EVENTS),
    (EVENTS_REJECTED, _OF_REJECTED),
    (GENERATIONS, _OF_GENERATIONS),
    (GROUP_HOURS, _OF_HOURS),
    (BASELINES, _OF_BASELINES),
    (WHATIF, _OF_WHATIF),
    (FIDELITY, _OF_FIDELITY),
    (RECOMMENDATIONS, _OF_RECOMMENDATIONS),
)

_Checks = Iterator[tuple[str, DataFrame, tuple[_Expectation, ...]]]


def _keys(tables: _Tables) -> _Checks:
    for table in TABLES.values():
        if table.keys and table.name in tables:
            rows = tables[table.name].groupBy(*table.keys).agg(F.count("*").alias("rows"))
            holds = " AND ".join(("rows = 1", *(f"`{key}` IS NOT NULL" for key in table.keys)))
            yield table.name, rows, (_Expectation("keys are unique", holds, table.keys),)


def _checks(tables: _Tables) -> _Checks:
    """Yield each table name with its rows and expectations, joins with other tables included."""
    for table, checks in _SINGLE_TABLE:
        if table.name in tables:
            yield table.name, tables[table.name], checks
    events, generations, members, hours = (
        tables.get(table.name) for table in (EVENTS, GENERATIONS, MEMBERS, GROUP_HOURS)
    )
    if generations is not None and events is not None:
        yield GENERATIONS.name, steps(generations, events), _OF_STEPS
    if generations is not None and members is not None:
        yield MEMBERS.name, with_members(generations, members), _OF_MEMBERS
    if generations is not None and hours is not None:
        yield GROUP_HOURS.name, with_hours(generations, hours), _OF_SUMS
