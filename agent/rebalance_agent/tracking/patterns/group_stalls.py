"""Counts stalls of whole groups: periods in which a share of the partitions was certainly stalled. Pure.

As soon as a group's stall reaches a limit, the whole length of the stall is added to the counter of this limit. So an
increase of the counter shows such a stall, even if it ended before the next scrape, and short stalls never add up.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from types import MappingProxyType

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.group_patterns import compiled_pattern, first_match, split_entries

__all__ = ["LIMITS_MAX", "GroupStallLimits", "Limit", "StallLimits", "StalledTime", "stalled_spans"]

LIMITS_MAX = 100
"""Maximum number of entries of the setting, since each is matched against every group."""

_SECONDS_MAX = 86_400
_VALUES = re.compile(r"\s*([0-9.]+)\s*,\s*([0-9.]+)\s*,\s*([0-9.]+)\s*")


class Limit(StrEnum):
    """A limit for the length of a group's stall, named after the severity of its alert."""

    WARNING = "warning"
    CRITICAL = "critical"


_ZERO: Mapping[Limit, float] = MappingProxyType(dict.fromkeys(Limit, 0.0))


@dataclass(frozen=True, slots=True)
class StallLimits:
    """A group is stalled while at least ``share`` of its partitions is certainly stalled; the limits are durations."""

    share: float = 0.5
    warning_seconds: float = 30.0
    critical_seconds: float = 90.0

    def needed(self, partitions: int) -> int:
        """Return how many of ``partitions`` must be stalled; at least one."""
        return max(1, math.ceil(self.share * partitions))

    def reached(self, seconds: float) -> Mapping[Limit, float]:
        """Return the seconds that a stall of this length adds to each limit: its whole length or zero."""
        limits = {Limit.WARNING: self.warning_seconds, Limit.CRITICAL: self.critical_seconds}
        return {limit: seconds if seconds >= seconds_min else 0.0 for limit, seconds_min in limits.items()}


@dataclass(frozen=True, slots=True)
class GroupStallLimits:
    """The limits of individual groups; the first entry whose pattern matches the whole name applies."""

    entries: tuple[tuple[re.Pattern[str], StallLimits], ...] = ()

    @classmethod
    def parse(cls, text: str) -> GroupStallLimits:
        """Parse ``GROUPS=SHARE,WARNING_SECONDS,CRITICAL_SECONDS``; several are separated by newlines or semicolons.

        Raises:
            InvalidInputError: an invalid regular expression, a number out of range, or too many entries.
        """
        return cls(tuple(map(_entry, split_entries(text, LIMITS_MAX))))

    def of(self, group: str) -> StallLimits:
        """Return the limits of ``group``."""
        return first_match(self.entries, group, StallLimits())


def _entry(entry: str) -> tuple[re.Pattern[str], StallLimits]:
    pattern, _, numbers = entry.rpartition("=")
    try:
        values = _VALUES.fullmatch(numbers)
        share, warning, critical = (float(value) for value in values.groups()) if values else (0.0, 0.0, 0.0)
    except ValueError:
        share = warning = critical = 0.0
    if not (pattern.strip() and 0 < share <= 1 and 0 < warning <= critical <= _SECONDS_MAX):
        raise InvalidInputError(
            "", f"{entry!r} is not GROUPS=SHARE,WARNING_SECONDS,CRITICAL_SECONDS, such as .*=0.5,30,90"
        )
    return compiled_pattern(pattern), StallLimits(share, warning, critical)


@dataclass(frozen=True, slots=True)
class StalledTime:
    """Seconds of a group's stalls that reached each limit; ``since_ms``: when the running stall became certain.

    Times are by the observer's clock (epoch ms).
    """

    limits: StallLimits = field(default_factory=StallLimits)
    seconds: Mapping[Limit, float] = field(default_factory=lambda: _ZERO)
    since_ms: int | None = None

    def at(self, now_ms: int) -> Mapping[Limit, float]:
        """Return the seconds as of ``now_ms``, including the running stall."""
        if self.since_ms is None or now_ms <= self.since_ms:
            return self.seconds
        running = self.limits.reached((now_ms - self.since_ms) / 1000)
        return {limit: self.seconds[limit] + running[limit] for limit in Limit}

    def set(self, now_ms: int, *, stalled: bool) -> StalledTime:
        """Return the time as of ``now_ms``, when the group becomes ``stalled`` or stops being so."""
        if stalled and self.since_ms is not None:
            return self
        return replace(self, seconds=self.at(now_ms), since_ms=now_ms if stalled else None)

    def add(self, spans: Iterable[float], counted: Mapping[Limit, float]) -> StalledTime:
        """Return the time plus the stalls (seconds) of a settled rebalance, minus what is ``counted`` already."""
        reached = [self.limits.reached(span) for span in spans]
        more = {limit: max(0.0, sum(one[limit] for one in reached) - counted.get(limit, 0.0)) for limit in Limit}
        return replace(self, seconds={limit: self.seconds[limit] + more[limit] for limit in Limit})


def stalled_spans(changes: Mapping[int, int], needed: int) -> Iterator[float]:
    """Yield the lengths (seconds) of the periods in which at least ``needed`` partitions were stalled.

    ``changes``: time (ms) -> how many more partitions are stalled from then on.
    """
    standing, since_ms = 0, None
    for at_ms in sorted(changes):
        standing += changes[at_ms]
        if standing >= needed and since_ms is None:
            since_ms = at_ms
        elif standing < needed and since_ms is not None:
            yield (at_ms - since_ms) / 1000
            since_ms = None
