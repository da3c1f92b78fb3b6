"""What is normal for a group at each hour of the week: one JSON object per group, which the pipeline publishes.

It is the value of a record in the compacted topic ``rebalance-baselines``; the key is the cluster's id and the group.
Both sides hold to this module: `pipeline` writes these names, the observer reads them here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise
from typing import ClassVar

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.event_json import json_object, value_from_json

__all__ = [
    "BASELINE_BYTES_MAX",
    "BASELINE_SCHEMA_VERSION",
    "EPOCH_HOUR_OF_WEEK",
    "HOURS_OF_WEEK",
    "BaselineScope",
    "GroupBaseline",
    "HourBaseline",
    "baseline_from_json",
    "hour_of_week",
]

BASELINE_SCHEMA_VERSION = 1
"""Raised when a field changes its meaning; added optional fields keep it."""

HOURS_OF_WEEK = 7 * 24

EPOCH_HOUR_OF_WEEK = 3 * 24
"""1970 began on a Thursday."""

BASELINE_BYTES_MAX = 256 * 1024
"""168 hours of five numbers each have some 25 kB; the longest names that Kafka takes, escaped, have most of this."""

_HOUR_MS = 3_600_000


def hour_of_week(epoch_ms: int) -> int:
    """The hour of the week in UTC: 0 is Monday, 00:00 to 01:00, 167 the last one of Sunday."""
    return (epoch_ms // _HOUR_MS + EPOCH_HOUR_OF_WEEK) % HOURS_OF_WEEK


class BaselineScope(StrEnum):
    """Whose rebalances an hour's numbers are from: the narrowest of these that had enough of them."""

    HOUR_OF_WEEK = "hour_of_week"
    HOUR_OF_DAY = "hour_of_day"
    WEEK = "week"


@dataclass(frozen=True, slots=True)
class HourBaseline:
    """Stalls of a group at one hour of the week, in seconds. A percentile is None where its sample is too small."""

    hour_of_week: int
    scope: BaselineScope
    samples: int
    stall_p50_seconds: float
    stall_p95_seconds: float | None = None
    stall_p99_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class GroupBaseline:
    """One group's normal as of ``computed_ms``; hours in ascending order, without those of which nobody knows."""

    KIND: ClassVar[str] = "baseline"

    cluster_id: str
    group: str
    computed_ms: int
    hours: tuple[HourBaseline, ...]


def baseline_from_json(value: bytes) -> GroupBaseline:
    """Read the value of a record; unknown fields are ignored: a newer release added them.

    Raises:
        InvalidInputError: naming what is too long, missing, of the wrong type or out of range.
    """
    if not value or len(value) > BASELINE_BYTES_MAX:
        raise InvalidInputError("", f"a baseline has 1 to {BASELINE_BYTES_MAX} bytes")
    data = json_object(value)
    if not isinstance(data, dict) or data.get("kind") != GroupBaseline.KIND:
        raise InvalidInputError("kind", f"must be {GroupBaseline.KIND}")
    if data.get("schema_version") != BASELINE_SCHEMA_VERSION or isinstance(data["schema_version"], bool):
        raise InvalidInputError("schema_version", f"must be {BASELINE_SCHEMA_VERSION}")
    baseline = value_from_json(GroupBaseline, data)
    _check_hours(baseline.hours)
    return baseline


def _check_hours(hours: tuple[HourBaseline, ...]) -> None:
    numbers = [-1, *(each.hour_of_week for each in hours), HOURS_OF_WEEK]
    if any(earlier >= later for earlier, later in pairwise(numbers)):
        raise InvalidInputError("hours", f"must be of hours 0 to {HOURS_OF_WEEK - 1}, each once, ascending")
    for index, each in enumerate(hours):
        rising = [0.0, each.stall_p50_seconds, each.stall_p95_seconds, each.stall_p99_seconds, math.inf]
        known = [seconds for seconds in rising if seconds is not None]
        if each.samples < 1 or any(lower > higher for lower, higher in pairwise(known)):
            raise InvalidInputError(f"hours[{index}]", "must have a sample, and percentiles from 0 up that do not fall")
