"""Deals items in turn, so that neighbours go to different takers."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

__all__ = ["deal_evenly", "keep_evenly"]

_K = TypeVar("_K", bound=Hashable)
_T = TypeVar("_T")


def deal_evenly(items: Sequence[_T], shares: Mapping[_K, int]) -> dict[_K, list[_T]]:
    """Give each taker its share of ``items``, spread over the whole sequence.

    ``shares`` (taker -> number of items) add up to the number of items.
    """
    turns = sorted(
        ((2 * turn + 1) / share, index) for index, share in enumerate(shares.values()) for turn in range(share)
    )
    takers = list(shares)
    dealt: dict[_K, list[_T]] = {taker: [] for taker in takers}
    for item, (_, index) in zip(items, turns, strict=True):
        dealt[takers[index]].append(item)
    return dealt


def keep_evenly(items: Sequence[_T], count: int) -> tuple[list[_T], list[_T]]:
    """Return ``count`` of the items, spread over the whole sequence, and the others."""
    kept: list[_T] = []
    left: list[_T] = []
    reached = 0
    for item in items:
        reached += count
        if reached >= len(items):
            reached -= len(items)
            kept.append(item)
        else:
            left.append(item)
    return kept, left
