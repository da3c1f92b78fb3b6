"""Computes the candidates of one group or cluster, in Spark's Python workers, as rows of Arrow batches.

A group's candidates are its improbable changes or its slow members. An additional row has the number of tests.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd
from pyspark.sql.types import BooleanType, DoubleType, LongType, StringType, StructType

from rebalance_agent.model.member_changes import member_name
from rebalance_agent.pipeline.changes.beside import Beside, State, beside
from rebalance_agent.pipeline.changes.change_points import ChangePoint, change_points
from rebalance_agent.pipeline.changes.group_signals import HOUR_MS, Hours, Signal, hours_of
from rebalance_agent.pipeline.changes.peer_outliers import peer_outliers
from rebalance_agent.pipeline.changes.sentences import change_sentence
from rebalance_agent.pipeline.table_schema import GROUP, columns

__all__ = [
    "CHANGE_CANDIDATES",
    "CLUSTER_CANDIDATES",
    "HOURS",
    "SLOW_CANDIDATES",
    "SUMS",
    "cluster_rows",
    "group_rows",
    "hour_rows",
    "slow_rows",
]

_TESTS = ((LongType(), "tests"),)
_CHANGE = (
    (StringType(), "signal sentence rollout beside"),
    (LongType(), "changed_ms rollout_ms"),
    (DoubleType(), "level_before level_after ratio chance"),
    (BooleanType(), "recovery"),
)
CHANGE_CANDIDATES = columns(((StringType(), "cluster_id group"), *_TESTS), _CHANGE)
CLUSTER_CANDIDATES = columns(((StringType(), "cluster_id"), *_TESTS), _CHANGE)
SLOW_CANDIDATES = columns(
    ((StringType(), "cluster_id group"), *_TESTS),
    (
        (StringType(), "member"),
        (LongType(), "rebalances peers last_ms"),
        (DoubleType(), "stop_seconds peers_stop_seconds deviations chance"),
    ),
)
SUMS = Hours._fields[3:]
HOURS = columns(((StringType(), "cluster_id"), (LongType(), "first last hour"), (DoubleType(), " ".join(SUMS))))

_Row = Mapping[str, object]


def _frame(rows: Iterator[_Row], schema: StructType) -> pd.DataFrame:
    # With dtype object, the integers of a column that also has nulls stay integers.
    return pd.DataFrame(rows, columns=schema.names, dtype=object)


def _hours(rows: pd.DataFrame) -> Hours:
    return hours_of(
        rows["at_ms"].to_numpy(np.int64),
        rows["trigger"].to_numpy(object),
        rows["stall_seconds"].to_numpy(float),
        rows["skew_ratio"].to_numpy(float),
        int(rows["first"].iloc[0]),
        int(rows["last"].iloc[0]),
    )


def _ordered(rows: pd.DataFrame) -> pd.DataFrame:
    """Sort by time, with the generation as the second key, so that two runs give the same result."""
    return rows.sort_values(["at_ms", "generation"], kind="stable")


def group_rows(key: tuple[str, str], rows: pd.DataFrame) -> pd.DataFrame:
    """Return the changes of a group; ``rows`` are its rebalances (see `change_tables.rebalances_of_groups`)."""
    rows = _ordered(rows)
    states = [
        State(row.at_ms, row.protocol, row.assignor, row.member_count, row.partition_count, row.rollout, row.images)
        for row in rows.itertuples()
    ]
    identity = dict(zip(GROUP, key, strict=True))
    return _frame(_candidates(_hours(rows), identity, states), CHANGE_CANDIDATES)


def cluster_rows(key: tuple[str], rows: pd.DataFrame) -> pd.DataFrame:
    """Return the changes of a cluster; ``rows`` are sums of its groups' `hour_rows`."""
    rows = rows.sort_values("hour")
    first, last = int(rows["first"].min()), int(rows["last"].max())
    hours = Hours(first, last, rows["hour"].to_numpy(np.int64), *(rows[name].to_numpy(float) for name in SUMS))
    return _frame(_candidates(hours, {"cluster_id": key[0]}, []), CLUSTER_CANDIDATES)


def _candidates(hours: Hours, identity: Mapping[str, str], states: list[State]) -> Iterator[_Row]:
    tests = 0
    for signal in Signal:
        found = change_points(hours, signal, "/".join(identity.values()))
        tests += found.tests
        for change in found.changes:
            yield {**identity, "tests": 0, **_columns(change, beside(states, change.hour))}
    yield {**identity, "tests": tests}


def _columns(change: ChangePoint, around: Beside) -> _Row:
    return {
        "signal": change.signal.value,
        "changed_ms": change.hour * HOUR_MS,
        "level_before": change.before,
        "level_after": change.after,
        "ratio": change.ratio,
        "chance": change.chance,
        "recovery": change.recovery,
        "rollout": around.rollout,
        "rollout_ms": around.rollout_ms,
        "beside": json.dumps(around.changed),
        "sentence": change_sentence(change, around),
    }


def hour_rows(key: tuple[str, str], rows: pd.DataFrame) -> pd.DataFrame:
    """Return the hours of a group, which are summed for its cluster."""
    hours = _hours(_ordered(rows))
    summed = {"hour": hours.hours, **{name: getattr(hours, name) for name in SUMS}}
    frame = pd.DataFrame(summed).assign(cluster_id=key[0], first=hours.first, last=hours.last)
    return frame[HOURS.names]


def slow_rows(key: tuple[str, str], rows: pd.DataFrame) -> pd.DataFrame:
    """Return the slow members of a group; ``rows`` come from table ``members``."""
    identity = dict(zip(GROUP, key, strict=True))
    names = [
        # Many members have the same client id. Without a pod or an instance id, only the member id is unique.
        member_name(row.member_id, row.instance_id, pod=row.pod)
        for row in rows.itertuples()
    ]
    named = _ordered(rows.assign(name=names))
    by_event = [
        dict(zip(event["name"], event["stop_seconds"], strict=True))
        for _, event in named.groupby("event_id", sort=False)
    ]
    found, tests = peer_outliers(by_event)
    latest = named.groupby("name")["at_ms"].max()

    def made() -> Iterator[_Row]:
        for slow in found:
            values = {name: getattr(slow, name) for name in slow.__slots__}
            yield {**identity, "tests": 0, **values, "last_ms": int(latest[slow.member])}
        yield {**identity, "tests": tests}

    return _frame(made(), SLOW_CANDIDATES)
