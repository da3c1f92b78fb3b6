"""A moment that is known between two bounds."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.tracking.evidence.known_times import FOREVER_MS

__all__ = ["Moment", "UnknownMomentError"]


class UnknownMomentError(Exception):
    """A partition stopped at an unknown time: no poll and no record shows the start of the rebalance."""


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment between two bounds (epoch ms); ``exact`` if a member reported it."""

    earliest_ms: int
    latest_ms: int
    exact: bool = False

    @property
    def endless(self) -> bool:
        """Whether nothing shows that the moment has come."""
        return self.latest_ms >= FOREVER_MS

    def not_after(self, earliest_ms: int) -> Moment:
        """Return the moment if it may have been as early as ``earliest_ms``."""
        return self if earliest_ms >= self.earliest_ms else Moment(earliest_ms, self.latest_ms)

    def not_before(self, latest_ms: int) -> Moment:
        """Return the moment if it may have been as late as ``latest_ms``."""
        return self if latest_ms <= self.latest_ms else Moment(self.earliest_ms, latest_ms)
