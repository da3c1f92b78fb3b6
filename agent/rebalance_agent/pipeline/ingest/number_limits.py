"""Bounds for the numbers of an event, so that every later stage can store, add and compare them. Pure, without Spark.

The codec accepts any 64-bit integer and any finite number. But the tables' columns are narrower, Spark checks sums for
overflow, and the expectations compare columns with each other. So a single event that is out of bounds or contradicts
itself would make every later run fail, at a stage that cannot name the event.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.episode import Stall
from rebalance_agent.model.event_json import PARTITIONS_MAX
from rebalance_agent.model.events import AbortedEvent, Event, GenerationEvent
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.pipeline.tables.whole_generations import require_whole

__all__ = ["event_times", "require_bounds"]

_PARTS_MAX = 100_000
"""Maximum number of parts of an event; the largest possible group has this number with one member in each part."""

_EARLIEST_MS, _LATEST_MS = (int(dt.datetime(year, 1, 1, tzinfo=dt.UTC).timestamp() * 1000) for year in (2000, 2100))
"""Accepted timestamps, in epoch milliseconds; `event_times.untimely` has the narrower bounds relative to a clock."""

_BEYOND_INT = 2**31
_TIME = (_EARLIEST_MS, _LATEST_MS, "must be between the years 2000 and 2100")
_COUNT = (0, _BEYOND_INT, "must be a 32-bit number that is not negative")
_INTEGER = (-_BEYOND_INT, _BEYOND_INT, "must be a 32-bit number")

_SECONDS_MAX = (_LATEST_MS - _EARLIEST_MS) / 1000
_SECONDS = (0, _SECONDS_MAX, "must be a number of seconds from 0 up to a century")
_PARTITION_SECONDS = (
    0,
    _SECONDS_MAX * _BEYOND_INT,
    "must be partition-seconds from 0 up to a century for each partition",
)
_RATIO = (0, _BEYOND_INT, "must be a ratio that is not negative and below 2**31")
"""Limits above which the sum over many events would be infinite, and the quotient of two sums not a number."""

_NAME_MAX = 32_767
"""Maximum number of characters of a topic name: the maximum for a Kafka string, and less than Spark's JSON reader
accepts."""

_COUNTS = ("followups", "moved", "needed", "revoked", "assigned", "lost", "lost_min", "unassigned", "imbalance")
_GENERATIONS = ("generation", "previous_generation", "episode_generation")
_TIMEOUTS = ("session_timeout_ms", "rebalance_timeout_ms")


def require_bounds(event: Event) -> None:
    """Check the numbers with which later stages compute, and check that the event does not contradict itself.

    The numbers are times, durations, and 32-bit counts, generations and timeouts. A generation event that has only one
    part must also pass `require_whole`.

    Raises:
        InvalidInputError: a number is out of bounds, or two fields exclude each other; the message names the field.
    """
    for name, value in event_times(event):
        _require_value(_TIME, name, value)
    _require(_COUNT, event, ("revision",))
    if isinstance(event, GenerationEvent):
        _require_generation(event)
    elif isinstance(event, AbortedEvent):
        _require(_COUNT, event, ("generations",))
        _require(_INTEGER, event, ("generation",))
    elif isinstance(event, RolloutEvent):
        _require(_SECONDS, event, ("stall_seconds",))
        _require(_PARTITION_SECONDS, event, ("stalled_partition_seconds",))


def event_times(event: Event) -> Iterator[tuple[str, int | None]]:
    """Yield the names and values of the times with which later stages compute, in epoch milliseconds."""
    yield "timestamp_ms", event.timestamp_ms
    if isinstance(event, GenerationEvent):
        yield "phases.started_ms", event.phases.started_ms
        yield "phases.joined_ms", event.phases.joined_ms
        yield "phases.completed_ms", event.phases.completed_ms
    elif isinstance(event, RolloutEvent):
        yield "started_ms", event.started_ms


def _require_generation(event: GenerationEvent) -> None:
    if not 0 <= event.part < event.parts <= _PARTS_MAX:
        raise InvalidInputError("part", f"must be 0 or more and less than parts, which must be at most {_PARTS_MAX}")
    _require(_COUNT, event, _COUNTS)
    _require(_INTEGER, event, _GENERATIONS)
    _require(_RATIO, event, ("skew_ratio",))
    _require(_SECONDS, event, ("slowest_seconds", "slowest_lower_seconds", "assignor_wait_seconds"))
    if event.episode_generation > event.generation:
        raise InvalidInputError("episode_generation", "must not be above generation")
    if event.phases.started_ms is not None and event.phases.started_ms > event.phases.completed_ms:
        raise InvalidInputError("phases.started_ms", "must not be after completed_ms")
    if event.stall is not None:
        _require_stall(event, event.stall)
    lengths = [*map(len, event.topics)]
    for member in event.members:
        _require(_INTEGER, member, _TIMEOUTS, "members.")
        _require(_SECONDS, member, ("stop_seconds",), "members.")
        lengths += map(len, member.owned)
        lengths += map(len, member.assigned)
    if max(lengths, default=0) > _NAME_MAX:
        raise InvalidInputError("topics", f"must have names of at most {_NAME_MAX} characters")
    # A later stage assigns all partitions of the topics, also those that no member has.
    if min(event.topics.values(), default=0) < 0 or sum(event.topics.values()) > PARTITIONS_MAX:
        raise InvalidInputError(
            "topics", f"must have partition counts of 0 or more, with a sum of at most {PARTITIONS_MAX}"
        )
    if event.parts == 1:
        require_whole(event)


def _require_stall(event: GenerationEvent, stall: Stall) -> None:
    if not event.closes_episode:
        raise InvalidInputError("stall", "must be present only in a generation that closes its episode")
    _require(_SECONDS, stall, ("lower_seconds", "seconds"), "stall.")
    _require(_PARTITION_SECONDS, stall, ("partition_seconds", "upper_partition_seconds"), "stall.")
    if stall.seconds is not None and stall.lower_seconds > stall.seconds:
        raise InvalidInputError("stall.lower_seconds", "must not be above seconds")


def _require(limits: tuple[float, float, str], source: object, names: Iterable[str], prefix: str = "") -> None:
    """Check the attributes in ``names`` that have values; ``limits``: minimum, exclusive maximum, and rule as text."""
    for name in names:
        _require_value(limits, prefix + name, getattr(source, name))


def _require_value(limits: tuple[float, float, str], name: str, value: float | None) -> None:
    first, beyond, rule = limits
    if value is not None and not first <= value < beyond:
        raise InvalidInputError(name, rule)
