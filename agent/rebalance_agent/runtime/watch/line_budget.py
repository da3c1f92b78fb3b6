"""Limits the log lines that a group may cause: a group that rebalances without end must not fill the log."""

from __future__ import annotations

from rebalance_agent.clock import Clock
from rebalance_agent.http.token_bucket import TokenBucket

__all__ = ["BURST", "EVERY_S", "GROUPS_MAX", "LineBudget"]

BURST = 30
"""Lines of one group in a burst: enough for the rebalances of a rollout of some members."""

EVERY_S = 2.0
"""Seconds between lines of a group in the long run."""

GROUPS_MAX = 10_000
"""Maximum number of groups with a budget; the group whose last line is the oldest is removed first."""


class LineBudget:
    """Counts the lines that each group may still log, and those that were omitted. Not thread-safe."""

    def __init__(self, clock: Clock) -> None:
        """Start with a full budget for each group."""
        self._clock = clock
        self._groups: dict[str, tuple[TokenBucket, int]] = {}

    def take(self, group: str) -> int | None:
        """Return how many lines were omitted since the last logged line; None if this line must be omitted, too."""
        if group not in self._groups:
            self._groups[group] = TokenBucket(1 / EVERY_S, BURST, self._clock), 0
        bucket, omitted = self._groups.pop(group)
        allowed = not bucket.take(1)
        self._groups[group] = bucket, 0 if allowed else omitted + 1
        if len(self._groups) > GROUPS_MAX:
            del self._groups[next(iter(self._groups))]
        return omitted if allowed else None
