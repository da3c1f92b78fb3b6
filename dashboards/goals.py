"""What boards and alerts have in common: the numbers of ``alerts/values.yaml``, so that both call the same bad."""

from __future__ import annotations

from alerts.values import Value, load

from dashboards.panel import above, below

__all__ = [
    "AVAILABILITY",
    "DURATION",
    "GOAL",
    "MARGIN",
    "SHARES",
    "SNAPSHOT_AGE",
    "STORM",
    "STORM_MIN",
    "STORM_PER_MEMBER",
    "TIMEOUT_UNKNOWN",
]

_VALUES = load()
_STUCK = _VALUES.alerts["KafkaGroupRebalanceStuck"]
_STORM = _VALUES.alerts["KafkaGroupRebalanceStorm"]


def _number(value: Value) -> float:
    """A threshold; a whole one stays whole."""
    if isinstance(value, str):
        raise TypeError(f"{value!r} is no number")
    return value


_SLO = _number(_VALUES.shared["slo"])

GOAL = f"{_SLO * 100:g} %"
"""Of the partition-seconds, in words."""

MARGIN, TIMEOUT_UNKNOWN = _STUCK["margin_seconds"], _STUCK["timeout_seconds"]
"""Seconds over its members' rebalance timeout from which on one is stuck, and the timeout where it is not known."""

STORM, STORM_PER_MEMBER, STORM_MIN = str(_STORM["window"]), _STORM["per_member"], _STORM["rebalances"]

AVAILABILITY = below(0.99, _SLO)
SHARES = above(_number(_VALUES.alerts["KafkaGroupAssignmentSkewed"]["ratio"]), 3)
"""Of the skew."""

DURATION = above(_number(_VALUES.alerts["KafkaGroupRebalanceSlow"]["seconds"]), _number(TIMEOUT_UNKNOWN))
"""Of a rebalance that runs."""

SNAPSHOT_AGE = above(bad=_number(_VALUES.alerts["RebalanceAgentSnapshotOld"]["seconds"]))
