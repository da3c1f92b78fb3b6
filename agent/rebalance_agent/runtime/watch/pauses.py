"""Pauses after costly work for a group, so that no group takes the thread's time from all others."""

from __future__ import annotations

from collections.abc import Set as AbstractSet

from rebalance_agent.clock import Clock

__all__ = ["FREE_S", "Pauses"]

FREE_S = 0.005
"""Longest work, in seconds of processor time, that causes no pause: work for a hundred members takes less."""


class Pauses:
    """The groups that pause, and the end of each pause. Only one thread may use this.

    ``costly``: the groups whose last work took more than `FREE_S`.
    """

    def __init__(self, clock: Clock, share: float) -> None:
        """``share``: the part of a processor that the work for one group may take."""
        self._clock, self._share = clock, share
        self._until: dict[str, float] = {}
        self.costly: set[str] = set()

    def add(self, group: str, seconds: float) -> None:
        """Record the ``seconds`` of processor time that work for a group took; the pauses of one group add up."""
        if seconds <= FREE_S:
            self.costly.discard(group)
        else:
            self.costly.add(group)
            begins = max(self._until.get(group, 0.0), self._clock.monotonic())
            self._until[group] = begins + seconds * (1 / self._share - 1)

    def forget(self, group: str) -> None:
        """Drop a group that is gone; a pause ends by itself."""
        self.costly.discard(group)

    def pausing(self) -> AbstractSet[str]:
        """Return the groups that pause now."""
        if self._until:
            now = self._clock.monotonic()
            self._until = {group: until for group, until in self._until.items() if until > now}
        return self._until.keys()
