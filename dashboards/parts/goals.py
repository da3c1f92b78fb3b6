"""Thresholds of boards, from ``alerts/values.yaml``, so that boards and alerts use the same values."""

from __future__ import annotations

from alerts.values import Value, load

from dashboards.parts.panel import above, below

__all__ = [
    "ABORTED",
    "ALLOWED",
    "ASSIGN_ERRORS",
    "AVAILABILITY",
    "BURN_FAST",
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
_FAILED = _VALUES.alerts["KafkaGroupRebalanceFailed"]
_STORM = _VALUES.alerts["KafkaGroupRebalanceStorm"]


def _number(value: Value) -> float:
    """Return a threshold as a number; an integer stays an integer."""
    if isinstance(value, str):
        raise TypeError(f"{value!r} is not a number")
    return value


_SLO = _number(_VALUES.shared["slo"])

GOAL = f"{_SLO * 100:g} %"
"""The objective for partition-seconds without a stall, as text."""

ALLOWED = round(1 - _SLO, 12)
"""The share of partition-seconds that the objective allows to be stalled."""

BURN_FAST = _number(_VALUES.alerts["KafkaGroupStallBudgetBurnFast"]["factor"])

MARGIN, TIMEOUT_UNKNOWN = _STUCK["margin_seconds"], _STUCK["timeout_seconds"]
"""Seconds: a rebalance is stuck after its rebalance timeout plus this margin; and the timeout if it is unknown."""

STORM, STORM_PER_MEMBER, STORM_MIN = str(_STORM["window"]), _STORM["per_member"], _STORM["rebalances"]

ABORTED, ASSIGN_ERRORS = _FAILED["aborted"], _FAILED["assign_errors"]
"""Limits for failed rebalances, by reason; one aborted rebalance is normal if a member joins late."""

AVAILABILITY = below(0.99, _SLO)
SHARES = above(_number(_VALUES.alerts["KafkaGroupAssignmentSkewed"]["ratio"]), 3)
"""Thresholds of the skew."""

DURATION = above(_number(_VALUES.alerts["KafkaGroupRebalanceSlow"]["seconds"]), _number(TIMEOUT_UNKNOWN))
"""Thresholds of the duration of a running rebalance, in seconds."""

SNAPSHOT_AGE = above(bad=_number(_VALUES.alerts["RebalanceAgentSnapshotOld"]["seconds"]))
