"""Defines the tables of what-if, of recommendations, and of their results."""

from __future__ import annotations

from pyspark.sql.types import BooleanType, DoubleType, IntegerType, LongType, StringType, TimestampType

from rebalance_agent.pipeline.table_schema import Table, columns

__all__ = ["ADVICE", "FIDELITY", "RECOMMENDATIONS", "WHATIF"]

_TEXT, _INT, _LONG, _DOUBLE = StringType(), IntegerType(), LongType(), DoubleType()
_FLAG, _TIME = BooleanType(), TimestampType()

WHATIF = Table(
    "whatif",
    columns(
        ((_TEXT, "cluster_id group strategy protocol"), (_LONG, "generations")),
        (
            (_TEXT, "refused"),
            (_LONG, "moved needed excess"),
            (_DOUBLE, "skew_mean skew_max imbalance_mean stalled_partition_seconds"),
            (_TEXT, "recorded_assignor recorded_protocol"),
            (_LONG, "recorded_moved recorded_excess"),
            (_DOUBLE, "recorded_skew_mean recorded_skew_max recorded_imbalance_mean"),
            (_DOUBLE, "recorded_stalled_partition_seconds modelled_stalled_partition_seconds"),
        ),
    ),
    keys=("cluster_id", "group", "strategy"),
)
"""A group's history replayed with a strategy, and the recorded figures. ``refused``: why a replay was impossible.

A model predicts the stalls of strategies. ``modelled_stalled_partition_seconds`` is the prediction for the recorded
history; the difference from the recorded value shows how accurate the model is.
"""

FIDELITY = Table(
    "fidelity",
    columns(
        (
            (_TEXT, "cluster_id group assignor implementation"),
            (_LONG, "checked same_moves same_skew same_assignment not_comparable agreeing"),
        ),
        ((_TEXT, "reason difference"),),
    ),
    keys=("cluster_id", "group", "assignor", "implementation"),
)
"""How many recorded assignments a replay, one step at a time, reproduces. ``difference``: the first that differs.

``agreeing``: how many of the ``not_comparable`` assignments (see ``reason``) are the same nevertheless.
"""

RECOMMENDATIONS = Table(
    "recommendations",
    columns(
        ((_TEXT, "cluster_id group"), (_FLAG, "static_membership"), (_TEXT, "sentence")),
        (
            (_TEXT, "strategy protocol slow_member"),
            (_DOUBLE, "saved_partition_seconds"),
            (_LONG, "saved_moves"),
            (_FLAG, "clustered"),
            (_DOUBLE, "strategy_share static_share"),
        ),
    ),
    keys=("cluster_id", "group"),
)
"""``strategy_share``, ``static_share``: the predicted share (0 to 1) of the modelled stall that each change saves."""

ADVICE = Table(
    "advice",
    columns(
        ((_TEXT, "advice_id cluster_id group kind state"), (_TIME, "given_at last_given_at")),
        (
            (_TEXT, "strategy"),
            (_DOUBLE, "saved_share predicted predicted_low predicted_high"),
            (_TIME, "taken_at ended_at"),
            (_DOUBLE, "realised realised_low realised_high"),
            (_INT, "days_before days_after"),
            (_FLAG, "missed"),
            (_TEXT, "reason"),
        ),
    ),
    keys=("advice_id",),
)
"""One row for each advice that a run gave (``given_at``: the end of its history), with its state.

``predicted`` and ``realised``: saved partition-seconds per week, with the ends of their confidence intervals.
``missed``: whether the whole measured interval is below the predicted one. ``reason``: why it is withheld.
"""
