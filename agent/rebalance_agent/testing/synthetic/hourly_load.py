"""Defines the load by hour of the week (UTC, Monday is day 0), relative to the peak of a working day."""

from __future__ import annotations

__all__ = ["HOUR_MS", "WEEKEND", "is_working_time", "load_at"]

HOUR_MS = 3_600_000
"""One hour in milliseconds."""

WEEKEND = 0.55
"""Load of a weekend hour, relative to the same hour of a working day."""

_DAY = (
    0.32, 0.27, 0.24, 0.22, 0.22, 0.25, 0.33, 0.46, 0.64, 0.80, 0.90, 0.95,
    0.97, 0.96, 0.95, 0.96, 0.98, 1.00, 0.99, 0.93, 0.82, 0.68, 0.52, 0.40,
)  # fmt: skip
_SATURDAY = 5
_WORK_BEGINS, _WORK_ENDS = 8, 17


def load_at(at_ms: int) -> float:
    """Return the load ``at_ms`` milliseconds after a Monday 00:00 UTC, interpolated between hours."""
    hours, rest_ms = divmod(at_ms, HOUR_MS)
    share = rest_ms / HOUR_MS
    return _hourly(hours) * (1 - share) + _hourly(hours + 1) * share


def is_working_time(at_ms: int) -> bool:
    """Whether ``at_ms`` is in working hours, when most deploys happen."""
    day, hour = divmod(at_ms // HOUR_MS, 24)
    return day % 7 < _SATURDAY and _WORK_BEGINS <= hour < _WORK_ENDS


def _hourly(hours: int) -> float:
    day, hour = divmod(hours, 24)
    return _DAY[hour] * (WEEKEND if day % 7 >= _SATURDAY else 1.0)
