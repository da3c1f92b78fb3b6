"""Converts rows of one group from and to `FollowedAdvice`, as Spark calls it in its Python workers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from rebalance_agent.pipeline.recommendations.adoption import Adoption, Closing
from rebalance_agent.pipeline.recommendations.advice_state import AdviceState, FollowedAdvice, Realised, followed
from rebalance_agent.pipeline.recommendations.given_advice import Advice, AdviceKind
from rebalance_agent.pipeline.recommendations.weekly_stall import WeeklyStall

__all__ = ["group_rows"]

_Row = Mapping[str, Any]
_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_MS = dt.timedelta(milliseconds=1)


def group_rows(given: pd.DataFrame, history: pd.DataFrame, as_of_ms: int, names: Sequence[str]) -> pd.DataFrame:
    """Return the rows of one group's advice, with the columns ``names`` of table ``advice``; times are milliseconds.

    ``given``: such rows of the last run, and rows of this run's advice with ``now`` True. ``history``: the group's
    rebalances.
    """
    closings = _closings(history)
    rows = [{name: _or_none(value) for name, value in row.items()} for row in given.to_dict("records")]
    now = {advice.advice_id: advice for advice in (_advice(row) for row in rows if row["now"])}
    earlier = {row["advice_id"]: _followed(row) for row in rows if not row["now"]}
    as_of = _time(as_of_ms)
    found = (followed(now.get(each), earlier.get(each), closings, as_of) for each in sorted({*now, *earlier}))
    return pd.DataFrame([_row(each) for each in found], columns=list(names), dtype=object)


def _closings(history: pd.DataFrame) -> Sequence[Closing]:
    """Return the rebalances in order; the generation is the second key, so that two runs give the same result."""
    ordered = history.sort_values(["at_ms", "generation"], kind="stable")
    columns = ("at_ms", "assignor", "static", "stalled_partition_seconds")
    values = zip(*(ordered[name].tolist() for name in columns), strict=True)
    return [Closing(_time(at_ms), *map(_or_none, rest)) for at_ms, *rest in values]


def _or_none(value: object) -> Any:  # noqa: ANN401 - the value of any column
    """Return None for every value that pandas uses instead of null."""
    return None if pd.isna(value) else value


def _advice(row: _Row) -> Advice:
    names = ("cluster_id", "group", "kind", "strategy", "saved_share")
    cluster_id, group, kind, strategy, saved_share = (row[name] for name in names)
    return Advice(cluster_id, group, AdviceKind(kind), strategy, saved_share)


def _followed(row: _Row) -> FollowedAdvice:
    taken, ended = (None if row[name] is None else _time(row[name]) for name in ("taken_at", "ended_at"))
    realised = _interval(row, "realised")
    return FollowedAdvice(
        _advice(row),
        AdviceState(row["state"]),
        _time(row["given_at"]),
        _time(row["last_given_at"]),
        _interval(row, "predicted"),
        Adoption(taken, ended) if taken else None,
        Realised(realised, int(row["days_before"]), int(row["days_after"])) if realised else None,
    )


def _interval(row: _Row, name: str) -> WeeklyStall | None:
    value = row[name]
    return None if value is None else WeeklyStall(value, row[f"{name}_low"], row[f"{name}_high"])


def _row(each: FollowedAdvice) -> _Row:
    advice, taken, realised = each.advice, each.adoption, each.realised
    return {
        "advice_id": advice.advice_id,
        **{name: getattr(advice, name) for name in ("cluster_id", "group", "strategy", "saved_share")},
        "kind": advice.kind.value,
        "state": each.state.value,
        "given_at": _ms(each.given_at),
        "last_given_at": _ms(each.last_given_at),
        "taken_at": _ms(taken.taken_at) if taken else None,
        "ended_at": _ms(taken.ended_at) if taken and taken.ended_at else None,
        **_columns("predicted", each.predicted),
        **_columns("realised", realised.saving if realised else None),
        "days_before": realised.days_before if realised else None,
        "days_after": realised.days_after if realised else None,
        "missed": each.missed,
    }


def _columns(name: str, interval: WeeklyStall | None) -> _Row:
    return (
        {} if interval is None else {name: interval.value, f"{name}_low": interval.low, f"{name}_high": interval.high}
    )


def _time(ms: float) -> dt.datetime:
    return _EPOCH + int(ms) * _MS


def _ms(at: dt.datetime) -> int:
    return (at - _EPOCH) // _MS
