"""Checks the tables in each run and computes the rows of table `expectations`.

A failed expectation of severity ``error`` means that rows are wrong, because the pipeline has a defect or another
program wrote to the tables. A ``warning`` concerns the observed data: a generation is missing for good because no
observer ran, or an event that an earlier release stored cannot be a row.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import reduce

from pyspark.sql import Column, DataFrame, Row, Window
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.model.baseline import HOURS_OF_WEEK
from rebalance_agent.pipeline.table_schema import GROUP, Table
from rebalance_agent.pipeline.tables.advice_schemas import ADVICE, FIDELITY, RECOMMENDATIONS, WHATIF
from rebalance_agent.pipeline.tables.change_schemas import CHANGES, CLUSTER_CHANGES, SLOW_MEMBERS
from rebalance_agent.pipeline.tables.cross_checks import steps, with_hours, with_members, with_rows
from rebalance_agent.pipeline.tables.schemas import (
    BASELINES,
    EVENTS,
    EVENTS_REJECTED,
    EXPECTATIONS,
    GENERATIONS,
    GROUP_HOURS,
    MEMBERS,
    TABLES,
)

__all__ = ["Severity", "broken", "expectations", "newest"]


class Severity(StrEnum):
    """Whether a failed expectation means wrong tables (error) or incomplete observation (warning)."""

    ERROR = "error"
    WARNING = "warning"


@dataclass(frozen=True, slots=True)
class _Expectation:
    """A condition on every row of a table, or of a join that is reported under the table's name.

    ``holds``: SQL; null counts as false. ``columns``: the columns of a failing example that are shown, by default the
    table's key.
    """

    table: Table
    name: str
    holds: str
    severity: Severity = Severity.ERROR
    columns: tuple[str, ...] = ()

    def result(self) -> Column:
        """Return the expectation's columns of a row of ``expectations``, as an aggregate over the rows."""
        fails = F.expr(f"NOT coalesce({self.holds}, false)")
        return F.struct(
            F.lit(self.name).alias("expectation"),
            F.lit(self.severity.value).alias("severity"),
            F.count("*").alias("checked"),
            F.count_if(fails).alias("failed"),
            F.min(F.when(fails, F.to_json(F.struct(*(self.columns or self.table.keys))))).alias("example"),
        )


def _rising(*names: str) -> str:
    """Return SQL that is true if the non-null values of these columns are not negative and do not decrease."""
    known = f"filter(array(0D, {', '.join(names)}), each -> each IS NOT NULL)"
    return f"{known} = array_sort({known})"


_LENGTHS = (
    "join_seconds",
    "sync_seconds",
    "assignor_wait_seconds",
    "reconcile_seconds",
    "stall_seconds",
    "stall_upper_seconds",
    "slowest_seconds",
)
_IN_ORDER = " AND ".join(
    f"coalesce({condition}, true)"
    for condition in ("started_at <= completed_at", *(f"{name} >= 0" for name in _LENGTHS))
)
_ALL_TRIGGERS = "aggregate(map_values(by_trigger), 0L, (total, count) -> total + count)"

_SINGLE_TABLE = (
    _Expectation(EVENTS, "parts are numbered", "part >= 0 AND part < parts"),
    _Expectation(EVENTS, "day is the date of the timestamp", "day = to_date(timestamp)"),
    _Expectation(EVENTS_REJECTED, "reasons begin with a code", "reason RLIKE '^[a-z_]+: .'"),
    _Expectation(GENERATIONS, "times are ordered", _IN_ORDER),
    _Expectation(
        GENERATIONS, "lower bounds are at most the upper ones", "coalesce(stall_seconds <= stall_upper_seconds, true)"
    ),
    _Expectation(GENERATIONS, "only closing rows have a stall", "closes_episode OR stall_seconds IS NULL"),
    _Expectation(GENERATIONS, "an episode begins before it ends", "episode_generation <= generation"),
    _Expectation(GROUP_HOURS, "rebalances are the sum over triggers", f"rebalances = {_ALL_TRIGGERS}"),
    _Expectation(GROUP_HOURS, "availability is a share", "coalesce(availability BETWEEN 0 AND 1, true)"),
    _Expectation(
        GROUP_HOURS, "percentiles do not decrease", _rising("stall_p50", "stall_p95", "stall_p99", "stall_max")
    ),
    _Expectation(BASELINES, "percentiles do not decrease", _rising("stall_p50", "stall_p95", "stall_p99")),
    _Expectation(BASELINES, "hours are within a week", f"hour_of_week BETWEEN 0 AND {HOURS_OF_WEEK - 1}"),
    *(
        _Expectation(table, "changes are improbable and large", "chance BETWEEN 0 AND 0.01 AND abs(ln(ratio)) > 0.2")
        for table in (CHANGES, CLUSTER_CHANGES)
    ),
    _Expectation(
        CHANGES, "a deploy begins before its change", "coalesce(rollout_at < changed_at + INTERVAL 1 HOUR, true)"
    ),
    _Expectation(
        SLOW_MEMBERS, "members are slower than their peers", "peers >= 3 AND stop_seconds > peers_stop_seconds"
    ),
    _Expectation(WHATIF, "excess is at most moved", "coalesce(excess BETWEEN 0 AND moved, true)"),
    _Expectation(
        WHATIF,
        "refused strategies have no figures",
        "refused IS NULL OR (generations = 0 AND coalesce(moved, skew_mean, stalled_partition_seconds) IS NULL)",
    ),
    _Expectation(
        FIDELITY,
        "comparable decisions are repeated",
        "same_moves = checked AND same_skew = checked",
        Severity.WARNING,
    ),
    _Expectation(FIDELITY, "agreeing is at most not_comparable", "agreeing <= not_comparable"),
    _Expectation(RECOMMENDATIONS, "a strategy has its protocol", "(strategy IS NULL) = (protocol IS NULL)"),
    _Expectation(RECOMMENDATIONS, "each group has a sentence", "length(sentence) > 0"),
    _Expectation(ADVICE, "only advice that was taken has a saving", "realised IS NULL OR taken_at > given_at"),
    _Expectation(
        ADVICE,
        "savings are within their intervals",
        f"{_rising('predicted_low', 'predicted', 'predicted_high')} AND "
        "coalesce(realised BETWEEN realised_low AND realised_high, true)",
    ),
)

_ID = ("event_id",)
_JOINED: Sequence[tuple[Callable[[DataFrame, DataFrame], DataFrame], tuple[Table, Table], tuple[_Expectation, ...]]] = (
    (
        steps,
        (GENERATIONS, EVENTS),
        (
            _Expectation(
                GENERATIONS,
                "generations are consecutive except aborted ones",
                "generation - previous - 1 = aborted",
                Severity.WARNING,
                (*GROUP, "previous", "generation", "aborted"),
            ),
        ),
    ),
    (
        with_rows,
        (GENERATIONS, EVENTS),
        (
            # `ingest` rejects events that cannot be rows; earlier releases did not.
            _Expectation(EVENTS, "each generation event is a row", "is_row", Severity.WARNING),
        ),
    ),
    (
        with_members,
        (GENERATIONS, MEMBERS),
        (
            _Expectation(MEMBERS, "each generation has its members", "members = member_count", columns=_ID),
            # Partitions without an owner count as unassigned; a share group's partition may have several owners.
            _Expectation(
                MEMBERS, "partitions are conserved", "partitions + unassigned >= partition_count", columns=_ID
            ),
        ),
    ),
    (
        with_hours,
        (GENERATIONS, GROUP_HOURS),
        (_Expectation(GROUP_HOURS, "rebalances equal closed episodes", "rebalances = episodes"),),
    ),
)
"""Joins of two tables, and the conditions that their rows must meet."""

_Tables = Mapping[str, DataFrame]


def expectations(tables: _Tables, now_ms: int) -> DataFrame:
    """Return the rows of table ``expectations`` for ``tables`` (by name), as of ``now_ms`` (epoch).

    Expectations on tables that are not given are skipped. At least one of `schemas.TABLES` must be given.
    """
    results = reduce(DataFrame.unionByName, (_results(rows, checks) for rows, checks in _checks(tables)))
    return results.withColumn("ran_at", F.timestamp_millis(F.lit(now_ms))).select(*EXPECTATIONS.schema.names)


def broken(results: Iterable[Row], *, strict: bool = False) -> list[Row]:
    """Return the failed expectations that make a run fail: errors and, if ``strict``, warnings."""
    severe = set(Severity) if strict else {Severity.ERROR}
    return [row for row in results if row["failed"] and row["severity"] in severe]


def newest(results: DataFrame) -> DataFrame:
    """Return the rows of table ``expectations`` from the last check of each table.

    Stages check different tables at different times. Tables that only an earlier release had are left out: they are not
    checked any more.
    """
    last = F.max("ran_at").over(Window.partitionBy("table"))
    current = results.where(F.col("table").isin(*TABLES))
    return current.withColumn("last", last).where("ran_at = last").drop("last").orderBy("table", "expectation")


def _results(rows: DataFrame, checks: Sequence[_Expectation]) -> DataFrame:
    """Return a row for each expectation of a table, from one pass over ``rows``."""
    results = rows.agg(F.array(*(check.result() for check in checks)).alias("results"))
    return results.select(F.lit(checks[0].table.name).alias("table"), F.inline("results"))


def _checks(tables: _Tables) -> Iterator[tuple[DataFrame, Sequence[_Expectation]]]:
    """Yield the rows of tables, and of joins with other tables, with their expectations."""
    present = [table for table in TABLES.values() if table.name in tables]
    for table in present:
        if table.keys:
            rows = tables[table.name].groupBy(*table.keys).agg(F.count("*").alias("rows"))
            holds = " AND ".join(("rows = 1", *(f"`{key}` IS NOT NULL" for key in table.keys)))
            yield rows, [_Expectation(table, "keys are unique", holds)]
    for table in present:
        if checks := [check for check in _SINGLE_TABLE if check.table is table]:
            yield tables[table.name], checks
    for join, (left, right), joined_checks in _JOINED:
        if left in present and right in present:
            yield join(tables[left.name], tables[right.name]), joined_checks
