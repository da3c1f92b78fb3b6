"""Limits the share of false discoveries among many tests (Benjamini and Hochberg, 1995)."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["FALSE_SHARE", "highest_chance"]

FALSE_SHARE = 0.004
"""Expected share of false discoveries among all: about one for each 1,000 groups and week."""


def highest_chance(chances: Iterable[float], tests: int, share: float) -> float:
    """Return the highest probability that counts as a discovery, 0 if none does; at most ``share`` of these are false.

    ``chances``: the probability of each test's result by chance; values above ``share`` can be left out. ``tests``:
    the number of all tests.
    """
    return max(
        (chance for rank, chance in enumerate(sorted(chances), 1) if chance <= share * rank / tests), default=0.0
    )
