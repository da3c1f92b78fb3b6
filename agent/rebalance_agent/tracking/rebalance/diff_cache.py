"""What changed from one generation to the next, worked out once for those who ask for it in turn."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from rebalance_agent.model.generation_diff import GenerationDiff, diff_generations
from rebalance_agent.model.group import GroupSnapshot
from rebalance_agent.tracking.completed_generation import Generation

__all__ = ["PAIRS_MAX", "difference"]

PAIRS_MAX = 4
"""An episode is settled in one go, and seldom has more steps; each pair holds two generations in memory."""


class _Pair(NamedTuple):
    """Equal to one of the same two objects only: to compare all members would take as long as the difference."""

    before: GroupSnapshot | None
    after: GroupSnapshot

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Pair) and self.before is other.before and self.after is other.after

    def __hash__(self) -> int:
        return hash((id(self.before), id(self.after)))


def difference(before: Generation | None, after: Generation) -> GenerationDiff:
    """`diff_generations` of the two; None before means that nobody was there. The last results are remembered."""
    return _difference(_Pair(before.value if before else None, after.value))


@lru_cache(PAIRS_MAX)
def _difference(pair: _Pair) -> GenerationDiff:
    return diff_generations(pair.before, pair.after)
