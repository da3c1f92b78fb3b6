"""Limits the share of false discoveries among many tests (Benjamini and Hochberg, 1995)."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = ["FALSE_SHARE", "highest_chance"]

FALSE_SHARE = 0.004
"""Expected share of false discoveries among all discoveries: about one false discovery per 1,000 groups and week."""


def highest_chance(chances: Iterable[float], tests: int, share: float) -> float:
    """Return the highest probability that counts as a discovery, or 0, so that at most ``share`` of them are false.

    ``chances``: for each test, the probability that chance gives its result; values above ``share`` can be left out.
    ``tests``: the number of all tests.
    """
    return max(
        (chance for rank, chance in enumerate(sorted(chances), 1) if chance <= share * rank / tests), default=0.0
    )
