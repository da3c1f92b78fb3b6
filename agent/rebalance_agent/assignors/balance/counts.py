"""A placement: for every member, how many partitions of each topic it keeps, gives up and gains."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rebalance_agent.assignors.ownership_index import OwnershipIndex

__all__ = ["NO_EXTRA", "Placement"]

NO_EXTRA = -1
"""Rank of a member that never gets one more partition than its floor: its share is a whole number."""


@dataclass(frozen=True, slots=True)
class Placement:
    """Changes to the ownership in ``ownership_index``, and the resulting ``loads`` by member.

    By topic: ``gains`` lists a member once per partition that is new to it; ``losses`` maps a member to the number of
    its partitions that it gives up.
    """

    ownership_index: OwnershipIndex
    gains: Sequence[Sequence[int]]
    losses: Sequence[Mapping[int, int]]
    loads: Sequence[int]

    @property
    def kept(self) -> int:
        """The number of partitions that stay with their owner."""
        return sum(self.loads) - sum(map(len, self.gains))

    @property
    def counts(self) -> tuple[dict[int, tuple[int, int]], ...]:
        """By topic: member -> (partitions it keeps, partitions that are new to it)."""
        by_topic = []
        for topic_ownership, gains, losses in zip(self.ownership_index.ownership, self.gains, self.losses, strict=True):
            kept = {member: len(numbers) - losses.get(member, 0) for member, numbers in topic_ownership.owned.items()}
            new = Counter(gains)
            by_topic.append({member: (kept.get(member, 0), new[member]) for member in sorted(kept.keys() | new.keys())})
        return tuple(by_topic)
