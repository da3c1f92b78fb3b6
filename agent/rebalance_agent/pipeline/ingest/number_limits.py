"""Bounds for the numbers of an event, so that every later stage can store, add and compare them. Pure, without Spark.

The codec accepts any 64-bit number and any finite one. The tables' columns are narrower, Spark checks sums for
overflow, and the expectations compare columns with each other: so one event out of bounds, or one that contradicts
itself, would fail every later run, at a stage that cannot name the event.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import NamedTuple

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.episode import Stall
from rebalance_agent.model.events import AbortedEvent, Event, GenerationEvent
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.pipeline.tables.whole_generations import require_whole

__all__ = ["LIMITS", "NAME_MAX", "PARTS_MAX", "NumberLimit", "require_bounds"]

PARTS_MAX = 100_000
"""Maximum number of parts of an event: the largest possible group with one member in each part."""

_EARLIEST_MS, _LATEST_MS = (int(dt.datetime(year, 1, 1, tzinfo=dt.UTC).timestamp() * 1000) for year in (2000, 2100))
"""Accepted timestamps, in epoch milliseconds. Others are mistakes, and each of their days would be a folder."""

_BEYOND_INT = 2**31
_SECONDS_MAX = (_LATEST_MS - _EARLIEST_MS) / 1000


class NumberLimit(NamedTuple):
    """Bounds of a number: its minimum, its exclusive maximum, and the rule in words."""

    first: float
    beyond: float
    rule: str


_TIME = NumberLimit(_EARLIEST_MS, _LATEST_MS, "must lie between the years 2000 and 2100")
_COUNT = NumberLimit(0, _BEYOND_INT, "must be a 32-bit number that is not negative")
_INTEGER = NumberLimit(-_BEYOND_INT, _BEYOND_INT, "must be a 32-bit number")
_SECONDS = NumberLimit(0, _SECONDS_MAX, "must be seconds, not negative and within a century")
_PARTITION_SECONDS = NumberLimit(
    0,
    _SECONDS_MAX * _BEYOND_INT,
    "must be seconds of partitions, not negative, each within a century",
)
_RATIO = NumberLimit(0, _BEYOND_INT, "must be a ratio that is not negative and below 2**31")
"""Above these, a sum over many events would be infinite, and a quotient of two such sums no number."""

NAME_MAX = 32_767
"""Maximum length of a topic name in characters: that of a Kafka string, and less than Spark's JSON reader accepts."""

_COUNTS = ("followups", "moved", "needed", "revoked", "assigned", "lost", "lost_min", "unassigned", "imbalance")
_GENERATIONS = ("generation", "previous_generation", "episode_generation")
_TIMEOUTS = ("session_timeout_ms", "rebalance_timeout_ms")
_PHASES = ("started_ms", "joined_ms", "completed_ms")
_DURATIONS = ("slowest_seconds", "slowest_lower_seconds", "assignor_wait_seconds")

LIMITS: Mapping[str, NumberLimit] = MappingProxyType(
    {
        **dict.fromkeys(("timestamp_ms", *_PHASES), _TIME),
        **dict.fromkeys(("revision", "generations", *_COUNTS), _COUNT),
        **dict.fromkeys((*_GENERATIONS, *_TIMEOUTS), _INTEGER),
        **dict.fromkeys((*_DURATIONS, "stop_seconds", "stall_seconds", "lower_seconds", "seconds"), _SECONDS),
        **dict.fromkeys(
            ("partition_seconds", "upper_partition_seconds", "stalled_partition_seconds"), _PARTITION_SECONDS
        ),
        "skew_ratio": _RATIO,
    }
)
"""Limits by the name of the field. `require_bounds` applies them to the fields that later stages compute with."""


def require_bounds(event: Event) -> None:
    """Check the numbers that later stages compute with, and that an event does not contradict itself.

    The numbers are times, durations, and counts, generations and timeouts of 32 bits. A generation that is complete in
    one part must also pass `require_whole`.

    Raises:
        InvalidInputError: a number is out of bounds, or two fields exclude each other; the message names the field.
    """
    _require(event, ("timestamp_ms", "revision"))
    if isinstance(event, GenerationEvent):
        _require_generation(event)
    elif isinstance(event, AbortedEvent):
        _require(event, ("generations", "generation"))
    elif isinstance(event, RolloutEvent):
        _require(event, ("started_ms", "stall_seconds", "stalled_partition_seconds"))


def _require_generation(event: GenerationEvent) -> None:
    if not 0 <= event.part < event.parts <= PARTS_MAX:
        raise InvalidInputError("part", f"must be less than parts, of which there are at most {PARTS_MAX}")
    _require(event.phases, _PHASES, "phases.")
    _require(event, (*_COUNTS, *_GENERATIONS, "skew_ratio", *_DURATIONS))
    if event.episode_generation > event.generation:
        raise InvalidInputError("episode_generation", "must not be above generation")
    if event.phases.started_ms is not None and event.phases.started_ms > event.phases.completed_ms:
        raise InvalidInputError("phases.started_ms", "must not be after completed_ms")
    if event.stall is not None:
        _require_stall(event, event.stall)
    lengths = [*map(len, event.topics)]
    for member in event.members:
        _require(member, (*_TIMEOUTS, "stop_seconds"), "members.")
        lengths += map(len, member.owned)
        lengths += map(len, member.assigned)
    if max(lengths, default=0) > NAME_MAX:
        raise InvalidInputError("topics", f"must have names of at most {NAME_MAX} characters")
    if min(event.topics.values(), default=0) < 0 or sum(event.topics.values()) >= _BEYOND_INT:
        raise InvalidInputError("topics", "must have partition counts that are not negative and in all a 32-bit number")
    if event.parts == 1:
        require_whole(event)


def _require_stall(event: GenerationEvent, stall: Stall) -> None:
    if not event.closes_episode:
        raise InvalidInputError("stall", "must be that of a generation that closes its episode")
    _require(stall, ("lower_seconds", "seconds", "partition_seconds", "upper_partition_seconds"), "stall.")
    if stall.seconds is not None and stall.lower_seconds > stall.seconds:
        raise InvalidInputError("stall.lower_seconds", "must not be above seconds")


def _require(source: object, names: Iterable[str], prefix: str = "") -> None:
    """Check the present attributes in ``names`` by `LIMITS`."""
    for name in names:
        value, limit = getattr(source, name), LIMITS[name]
        if value is not None and not limit.first <= value < limit.beyond:
            raise InvalidInputError(prefix + name, limit.rule)
