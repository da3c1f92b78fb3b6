"""Decides whether an episode waits for the first commits that end its stalls."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.partitions import pairs
from rebalance_agent.tracking.completed_generation import Episode, Generation
from rebalance_agent.tracking.evidence.known_times import FOREVER_MS

__all__ = ["COMMITS_WAIT_MAX_MS", "LOOK_AGAIN_MS", "AwaitedCommits"]

COMMITS_WAIT_MAX_MS = 10_000
"""How much longer (ms) a closed episode waits for the first commits of members that got partitions: twice Kafka's
default of ``auto.commit.interval.ms``."""

LOOK_AGAIN_MS = 10_000
"""Interval (ms) at which an episode that settled without commits is checked again: an outage of brokers may last
minutes."""


class AwaitedCommits:
    """Waits for the first commits after rebalances of one group, unless its members do not commit."""

    def __init__(self, reports: Callable[[str], bool]) -> None:
        """``reports``: returns whether the member with an id reports when it resumes."""
        self._reports = reports
        self._come = True

    def wait(self, episode: Episode, *, late: bool) -> bool:
        """Return whether a closed episode has to wait; ``late``: it has already waited for `COMMITS_WAIT_MAX_MS`."""
        waits = _awaits_commits(episode, self._reports)
        generations = (episode.before, episode.last) if episode.before else (episode.last,)
        if any(generation.first_commits.at_ms or generation.first_commits.later_ms for generation in generations):
            self._come = True
        elif waits and late:
            self._come = False
        return waits and self._come and not late

    def missing(self, episode: Episode) -> bool:
        """Whether commits that would end a stall may still come after the episode settled."""
        return self._come and _awaits_commits(episode, self._reports)


def _awaits_commits(episode: Episode, reports: Callable[[str], bool]) -> bool:
    """Whether a member that does not report (see ``reports``) got a partition that no commit shows as consumed yet.

    A commit by a later owner also ends the stall of the partition.
    """
    return any(
        _awaits(generation, partitions)
        for generation in episode.generations
        for member in generation.members
        if not reports(member.member_id) and (partitions := pairs(member.assigned) & generation.first_commits.awaited)
    )


def _awaits(generation: Generation, partitions: set[Partition]) -> bool:
    """Whether a commit is awaited for any of the ``partitions`` that a member got in the generation."""
    first, since_ms = generation.first_commits, FOREVER_MS
    waiting = partitions - first.at_ms.keys() - first.later_ms.keys()
    if not waiting:
        return False
    for _, given in groupby(sorted(partitions, key=generation.given_ms, reverse=True), generation.given_ms):
        together = set(given)
        since_ms = min([since_ms, *map(first.at_ms.__getitem__, together & first.at_ms.keys())])
        if any(since_ms > first.released_ms.get(partition, FOREVER_MS - 1) for partition in together & waiting):
            return True
    return False
