"""Whether the first commits that end the stalls of an episode are still to come."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from rebalance_agent.model.generation_diff import Partition
from rebalance_agent.model.partitions import pairs
from rebalance_agent.tracking.completed_generation import Episode, Generation
from rebalance_agent.tracking.evidence.known_times import FOREVER_MS

__all__ = ["awaits_commits"]


def awaits_commits(episode: Episode, reports: Callable[[str], bool]) -> bool:
    """Whether no commit shows yet that a partition was consumed again by a member that ``reports`` nothing (by id).

    A commit by a later owner ends its stall as well.
    """
    return any(
        _awaits(generation, partitions)
        for generation in episode.generations
        for member in generation.members
        if not reports(member.member_id) and (partitions := pairs(member.assigned) & generation.first_commits.awaited)
    )


def _awaits(generation: Generation, partitions: set[Partition]) -> bool:
    """Whether a commit is awaited of ``partitions`` that a member got; those that it got last come first."""
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
