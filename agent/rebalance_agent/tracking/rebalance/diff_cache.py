"""A small cache of generation differences, since several modules need the same one in turn."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from rebalance_agent.model.generation_diff import GenerationDiff, diff_generations
from rebalance_agent.model.group import GroupSnapshot
from rebalance_agent.tracking.completed_generation import Generation

__all__ = ["PAIRS_MAX", "difference"]

PAIRS_MAX = 4
"""Differences cached: an episode settles at once and seldom has more steps; each entry keeps two generations alive."""


class _Pair(NamedTuple):
    """A key that compares by object identity: comparing all members would take as long as the difference."""

    before: GroupSnapshot | None
    after: GroupSnapshot

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Pair) and self.before is other.before and self.after is other.after

    def __hash__(self) -> int:
        return hash((id(self.before), id(self.after)))


def difference(before: Generation | None, after: Generation) -> GenerationDiff:
    """Return `diff_generations` of the two, cached; ``before`` is None if there was no generation before."""
    return _difference(_Pair(before.value if before else None, after.value))


@lru_cache(PAIRS_MAX)
def _difference(pair: _Pair) -> GenerationDiff:
    return diff_generations(pair.before, pair.after)
