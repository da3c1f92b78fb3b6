"""Dealing things in turn, so that neighbours go to different hands."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TypeVar

__all__ = ["deal_evenly", "keep_evenly"]

_K = TypeVar("_K", bound=Hashable)
_T = TypeVar("_T")


def deal_evenly(items: Sequence[_T], rooms: Mapping[_K, int]) -> dict[_K, list[_T]]:
    """Give everybody as many ``items`` as it has room, each one's share spread over the whole sequence.

    ``rooms`` add up to the number of items.
    """
    turns = sorted(((2 * turn + 1) / room, place) for place, room in enumerate(rooms.values()) for turn in range(room))
    hands = list(rooms)
    dealt: dict[_K, list[_T]] = {hand: [] for hand in hands}
    for item, (_, place) in zip(items, turns, strict=True):
        dealt[hands[place]].append(item)
    return dealt


def keep_evenly(items: Sequence[_T], count: int) -> tuple[list[_T], list[_T]]:
    """``count`` of the items, spread over the whole sequence, and the others."""
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
