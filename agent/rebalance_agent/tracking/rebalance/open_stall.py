"""A stall that was not shown to be over when its episode was settled; it goes on in the next one."""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.tracking.evidence.known_times import FOREVER_MS, FirstCommits

__all__ = ["OpenStall"]


@dataclass(frozen=True, slots=True)
class OpenStall:
    """A stall that began at ``since_ms`` at the earliest, and has not been shown to be over.

    It is over when the owner commits a partition of ``given_with`` (see `FirstCommits`), and at ``until_ms`` at the
    latest: an owner that does not poll for its rebalance timeout (``max.poll.interval.ms``) is removed. Time in which
    its coordinator could not answer it does not count.
    """

    since_ms: int
    until_ms: int
    first: FirstCommits
    given_with: frozenset[Partition]

    def over(self, at_ms: int) -> bool:
        """Whether the stall was certainly over at ``at_ms``."""
        commits = self.first.at_ms
        return at_ms > self.until_ms or any(
            commits.get(partition, FOREVER_MS) <= at_ms for partition in self.given_with
        )
