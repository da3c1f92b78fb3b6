"""Numbers that an event may have so that every later stage can hold and add them. Pure, and knows no Spark.

The codec takes any 64-bit number. The tables' columns are narrower and their sums are checked, so that one event beyond
them would end each run from then on, at a stage that can tell nobody which one it was.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.events import AbortedEvent, Event, GenerationEvent
from rebalance_agent.model.rollout import RolloutEvent

__all__ = ["require_bounds"]

_PARTS_MAX = 100_000
"""Parts of one event: a member each, of the largest group that can be."""

_EARLIEST_MS = int(dt.datetime(2000, 1, 1, tzinfo=dt.UTC).timestamp() * 1000)
_LATEST_MS = int(dt.datetime(2100, 1, 1, tzinfo=dt.UTC).timestamp() * 1000)
"""Times beyond these are mistakes, and each of their days would be a folder."""

_BEYOND_INT = 2**31

_NAME_MAX = 32_767
"""Characters of a topic's name: of Kafka's texts, and within what Spark's JSON reader takes for a name."""

_COUNTS = ("followups", "moved", "needed", "revoked", "assigned", "lost", "unassigned", "imbalance")
_GENERATIONS = ("generation", "previous_generation", "episode_generation")
_TIMEOUTS = ("session_timeout_ms", "rebalance_timeout_ms")


def require_bounds(event: Event) -> None:
    """Nothing, if all that later stages count with is as Kafka has it: counts, generations and timeouts in 32 bits.

    Raises:
        InvalidInputError: naming a number that no event of ours can have.
    """
    _times(event, ("timestamp_ms",))
    _counts(event, ("revision",))
    if isinstance(event, GenerationEvent):
        _require_generation(event)
    elif isinstance(event, AbortedEvent):
        _counts(event, ("generations",))
        _integers(event, ("generation",))
    elif isinstance(event, RolloutEvent):
        _times(event, ("started_ms",))


def _require_generation(event: GenerationEvent) -> None:
    if not 0 <= event.part < event.parts <= _PARTS_MAX:
        raise InvalidInputError("part", f"must be less than parts, of which there are at most {_PARTS_MAX}")
    _times(event.phases, ("started_ms", "joined_ms", "completed_ms"), "phases.")
    _counts(event, _COUNTS)
    _integers(event, _GENERATIONS)
    lengths = [*map(len, event.topics)]
    for member in event.members:
        _integers(member, _TIMEOUTS, "members.")
        lengths += map(len, member.owned)
        lengths += map(len, member.assigned)
    if max(lengths, default=0) > _NAME_MAX:
        raise InvalidInputError("topics", f"must have names of at most {_NAME_MAX} characters")
    if min(event.topics.values(), default=0) < 0 or sum(event.topics.values()) >= _BEYOND_INT:
        raise InvalidInputError("topics", "must have partition counts that are not negative and in all a 32-bit number")


def _times(said: object, names: Iterable[str], prefix: str = "") -> None:
    for name in names:
        value = getattr(said, name)
        if value is not None and not _EARLIEST_MS <= value < _LATEST_MS:
            raise InvalidInputError(prefix + name, "must lie between the years 2000 and 2100")


def _counts(said: object, names: Iterable[str]) -> None:
    for name in names:
        value = getattr(said, name)
        if value is not None and not 0 <= value < _BEYOND_INT:
            raise InvalidInputError(name, "must be a 32-bit number that is not negative")


def _integers(said: object, names: Iterable[str], prefix: str = "") -> None:
    for name in names:
        value = getattr(said, name)
        if value is not None and not -_BEYOND_INT <= value < _BEYOND_INT:
            raise InvalidInputError(prefix + name, "must be a 32-bit number")
