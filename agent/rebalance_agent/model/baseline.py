"""A group's normal stalls at each hour of the week, and what recommended changes save, as one JSON object per group.

The object is the value of a record in the compacted topic ``rebalance-baselines``; the record's key contains the
cluster id and the group. The pipeline writes this format, and the observer reads it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import astuple, dataclass
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
    "NAME_BYTES_MAX",
    "AdviceSavings",
    "BaselineScope",
    "GroupBaseline",
    "HourBaseline",
    "baseline_from_json",
    "hour_of_week",
]

BASELINE_SCHEMA_VERSION = 1
"""Version of this format. It increases when a field changes its meaning, and not when optional fields are added."""

HOURS_OF_WEEK = 7 * 24
"""Hours of one week: the number of baselines that a group can have."""

EPOCH_HOUR_OF_WEEK = 3 * 24
"""Hour of the week of the Unix epoch: 1 January 1970 was a Thursday."""

BASELINE_BYTES_MAX = 64 * 1024
"""Maximum number of bytes of one baseline: 168 hours of five numbers take at most 31 kB, and the longest name 33 kB.

A name of more than 6,000 bytes may be longer in JSON, if most of its characters are control characters: then its group
has no baseline. A lower limit bounds the time to parse a record (5 ms), in which no other thread can run.
"""

NAME_BYTES_MAX = 32_767
"""Bytes of the longest name in Kafka's protocol, in UTF-8."""

_HOUR_MS = 3_600_000
_SAVING_MAX = 1e15  # partition-seconds per week: a billion partitions that are stalled all the time


def hour_of_week(epoch_ms: int) -> int:
    """Return the hour of the week in UTC: 0 is Monday 00:00 to 01:00, 167 the last hour of Sunday."""
    return (epoch_ms // _HOUR_MS + EPOCH_HOUR_OF_WEEK) % HOURS_OF_WEEK


class BaselineScope(StrEnum):
    """The set of rebalances from which an hour's numbers are computed: the narrowest set with enough samples."""

    HOUR_OF_WEEK = "hour_of_week"
    HOUR_OF_DAY = "hour_of_day"
    WEEK = "week"


@dataclass(frozen=True, slots=True)
class HourBaseline:
    """Stalls of a group at one hour of the week, in seconds. A percentile is None if there are too few samples."""

    hour_of_week: int
    scope: BaselineScope
    samples: int
    stall_p50_seconds: float
    stall_p95_seconds: float | None = None
    stall_p99_seconds: float | None = None


@dataclass(frozen=True, slots=True)
class AdviceSavings:
    """How much stall recommended changes save, in partition-seconds per week.

    ``taken``: the number of changes that were made and kept; ``measured``: the number of these with a measured saving.
    ``realised``: the sum of the measured savings, below 0 if the stalls increased; ``predicted``: the prediction for
    the same changes. ``open``: the number of changes that were not made; ``open_predicted``: what they would save.
    """

    taken: int = 0
    measured: int = 0
    realised: float = 0.0
    predicted: float = 0.0
    open: int = 0
    open_predicted: float = 0.0

    @classmethod
    def total(cls, savings: Iterable[AdviceSavings]) -> AdviceSavings:
        """Return the sum of several groups' savings."""
        columns = zip(*map(astuple, savings), strict=True)
        return cls(*map(sum, columns))


@dataclass(frozen=True, slots=True)
class GroupBaseline:
    """The baselines of one group as of ``computed_ms``: hours with enough samples, in ascending order.

    ``savings``: None if no change is recommended to the group.
    """

    KIND: ClassVar[str] = "baseline"

    cluster_id: str
    group: str
    computed_ms: int
    hours: tuple[HourBaseline, ...]
    savings: AdviceSavings | None = None


def baseline_from_json(value: bytes) -> GroupBaseline:
    """Read the value of a record. Unknown fields are ignored, since newer releases may add some.

    Raises:
        InvalidInputError: a field is missing, too long, of the wrong type or out of range; names it.
    """
    if not value or len(value) > BASELINE_BYTES_MAX:
        raise InvalidInputError("", f"a baseline must have 1 to {BASELINE_BYTES_MAX} bytes")
    data = json_object(value)
    if not isinstance(data, dict) or data.get("kind") != GroupBaseline.KIND:
        raise InvalidInputError("kind", f"must be {GroupBaseline.KIND}")
    if data.get("schema_version") != BASELINE_SCHEMA_VERSION or isinstance(data["schema_version"], bool):
        raise InvalidInputError("schema_version", f"must be {BASELINE_SCHEMA_VERSION}")
    baseline = value_from_json(GroupBaseline, data)
    if len(baseline.group.encode("utf-8", "surrogatepass")) > NAME_BYTES_MAX:
        raise InvalidInputError("group", f"must have at most {NAME_BYTES_MAX} bytes")
    _check_hours(baseline.hours)
    _check_savings(baseline.savings)
    return baseline


def _check_hours(hours: tuple[HourBaseline, ...]) -> None:
    hour_numbers = [-1, *(hour.hour_of_week for hour in hours), HOURS_OF_WEEK]
    if any(earlier >= later for earlier, later in pairwise(hour_numbers)):
        raise InvalidInputError("hours", f"must have the hours 0 to {HOURS_OF_WEEK - 1}, each once, ascending")
    for index, hour in enumerate(hours):
        rising = [0.0, hour.stall_p50_seconds, hour.stall_p95_seconds, hour.stall_p99_seconds, math.inf]
        percentiles = [seconds for seconds in rising if seconds is not None]
        if hour.samples < 1 or any(lower > higher for lower, higher in pairwise(percentiles)):
            raise InvalidInputError(
                f"hours[{index}]", "must have a sample, and percentiles that are 0 or more and do not decrease"
            )


def _check_savings(savings: AdviceSavings | None) -> None:
    if savings is None:
        return
    if not (0 <= savings.measured <= savings.taken and savings.open >= 0):
        raise InvalidInputError(
            "savings", "must have numbers of changes of 0 or more, and measured must be at most taken"
        )
    if any(abs(seconds) > _SAVING_MAX for seconds in (savings.realised, savings.predicted, savings.open_predicted)):
        raise InvalidInputError("savings", f"must have at most {_SAVING_MAX:.0e} partition-seconds")
