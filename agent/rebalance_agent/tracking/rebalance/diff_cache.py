"""A small cache of differences between generations, since several modules need the same difference in turn."""

from __future__ import annotations

from functools import lru_cache

from rebalance_agent.model.generation_diff import GenerationDiff, Identified, diff_generations
from rebalance_agent.tracking.completed_generation import Generation

__all__ = ["PAIRS_MAX", "difference"]

PAIRS_MAX = 4
"""Maximum number of cached differences: episodes rarely have more steps, and each entry keeps two generations in
memory."""


def difference(before: Generation | None, after: Generation) -> GenerationDiff:
    """Return the cached `diff_generations` of two generations; ``before`` is None for the first generation."""
    return _difference(Identified(after.value, before.value if before else None))


@lru_cache(PAIRS_MAX)
def _difference(pair: Identified) -> GenerationDiff:
    return diff_generations(pair.before, pair.after)
