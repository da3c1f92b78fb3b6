"""An episode: one rebalance, of one generation or of several that follow from each other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from rebalance_agent.model.generation_diff import owners
from rebalance_agent.model.group import Member
from rebalance_agent.model.partitions import pairs
from rebalance_agent.tracking.completed_generation import Generation

__all__ = ["GENERATIONS_MAX", "Episode"]

GENERATIONS_MAX = 16
"""Generations per episode at most. Follow-ups are one or two; a group that never settles is reported in slices."""


@dataclass(slots=True)
class Episode:
    """A rebalance as users experience it: one generation, or several if a cooperative assignor needed follow-ups.

    ``before`` is the generation that it started from. It is None if the group is new (``known``), or if the observer
    did not see the generation before (not ``known``).
    """

    before: Generation | None
    known: bool
    generations: list[Generation] = field(default_factory=list)

    @property
    def last(self) -> Generation:
        """The latest generation; it closes the episode unless it announces a follow-up."""
        return self.generations[-1]

    @property
    def members_before(self) -> tuple[Member, ...]:
        """The members before the episode."""
        return self.before.members if self.before else ()

    @property
    def fresh(self) -> bool:
        """Whether the group is known to have had no members before: it is new or was Empty."""
        return self.known and (self.before is None or not self.before.members)

    @property
    def followups(self) -> int:
        """The number of generations after the first."""
        return len({generation.number for generation in self.generations}) - 1

    @property
    def withheld(self) -> int:
        """The number of partitions that were revoked and not assigned yet: the follow-up will assign them."""
        before = [generation.value for generation in (self.before, *self.generations[:-1]) if generation]
        had = {partition for value in before for partition in owners(value)}
        return len(had - owners(self.last.value).keys())

    def awaits_commits(self, reports: Callable[[str], bool]) -> bool:
        """Whether a member that ``reports`` nothing (by member id) has yet to commit a partition that it got."""
        first = self.last.first_commits
        return any(
            first.at_ms.keys().isdisjoint(partitions) and not partitions <= first.later_ms.keys()
            for member in self.last.members
            if not reports(member.member_id) and (partitions := pairs(member.assigned) & first.awaited)
        )

    @property
    def unseen_partition_seconds(self) -> float:
        """Partition-seconds between the first join of a started group and its first assignment.

        They are counted afterwards, since the number of partitions is unknown before the assignment.
        """
        first = self.generations[0]
        if not self.fresh or first.start is None:
            return 0.0
        return len(owners(first.value)) * max(0, first.timestamp_ms - first.start.earliest_ms) / 1000

    @property
    def unnamed(self) -> frozenset[str]:
        """The topic ids in its generations, and in the one before, whose names are unknown."""
        return frozenset[str]().union(
            *(generation.unnamed for generation in (self.before, *self.generations) if generation)
        )

    def name_topics(self, rename: Callable[[Generation], Generation]) -> None:
        """Apply ``rename`` to each generation, after topic names became known."""
        self.before = self.before and rename(self.before)
        self.generations[:] = map(rename, self.generations)

    def steps(self) -> list[tuple[Generation | None, Generation]]:
        """Return each generation with the one before it."""
        return list(zip([self.before, *self.generations], self.generations, strict=False))
