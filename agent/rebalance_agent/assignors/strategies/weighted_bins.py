"""Distributes partitions of different weight to bins, one per member: heaviest first, then evens the bins out.

The first step is longest-processing-time first (Graham, 1969). Each member has a maximum number of partitions. Results
are exact: weights are whole numbers, and each partition weighs one unit more than its load. The unit is so small that
all partitions together add up to less than any difference of loads, so counts matter only if loads are equal.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, insort
from collections.abc import Callable, Iterable, Sequence

from rebalance_agent.assignors.roster import Roster

__all__ = ["Item", "WeightedBins", "weigh"]

Item = tuple[int, int, int]
"""Weight, topic (index in the roster), partition number."""

STEPS_PER_PARTITION_MAX = 20
"""Maximum number of steps per partition in `WeightedBins.even_out`. Usually it takes about one per partition that
moves."""


def weigh(roster: Roster) -> list[list[Item]]:
    """Return every partition by topic, with its weight. A load that is unknown, negative or not finite counts as 1."""
    ratios = [
        [_ratio(loads[number] if number < len(loads) else 1.0) for number in range(metadata.partitions)]
        for metadata in roster.metadata
        for loads in [metadata.loads or ()]
    ]
    scale = math.lcm(*{denominator for row in ratios for _, denominator in row})
    unit = sum(map(len, ratios)) + 1
    return [
        [(above * (scale // below) * unit + 1, topic, number) for number, (above, below) in enumerate(row)]
        for topic, row in enumerate(ratios)
    ]


def _ratio(load: float) -> tuple[int, int]:
    try:
        return load.as_integer_ratio() if math.isfinite(load) and load >= 0 else (1, 1)
    except OverflowError:  # a whole number above every float
        return (1, 1)


class WeightedBins:
    """The partitions of each member; ``weights`` and ``counts`` are by member."""

    def __init__(self, roster: Roster, limits: Sequence[int]) -> None:
        """Start with empty bins; a member never has more than its ``limits`` partitions."""
        classes = {id(members): members for members in roster.subscribers}
        order = {key: index for index, key in enumerate(classes)}
        self._class_of = [order[id(members)] for members in roster.subscribers]
        self._members_of = list(classes.values())
        self._classes_of: list[list[int]] = [[] for _ in limits]
        for kind, members in enumerate(self._members_of):
            for member in members:
                self._classes_of[member].append(kind)
        self._limits = limits
        # By member: class of topics -> its items, lightest first.
        self._held: list[dict[int, list[Item]]] = [{} for _ in limits]
        self._lightest: list[list[tuple[int, int]]] = [
            [(0, member) for member in kind_members] for kind_members in self._members_of
        ]
        self.weights = [0] * len(limits)
        self.counts = [0] * len(limits)

    def items(self, member: int) -> list[Item]:
        """Return the items of a member, lightest first."""
        return sorted(item for items in self._held[member].values() for item in items)

    def add(self, member: int, item: Item) -> None:
        """Add ``item`` to the bin of ``member``."""
        insort(self._held[member].setdefault(self._class_of[item[1]], []), item)
        self.counts[member] += 1
        self._change_weight(member, item[0])

    def _remove(self, member: int, item: Item) -> None:
        kind = self._class_of[item[1]]
        items = self._held[member][kind]
        del items[bisect_left(items, item)]
        if not items:
            del self._held[member][kind]
        self.counts[member] -= 1
        self._change_weight(member, -item[0])

    def _change_weight(self, member: int, weight: int) -> None:
        self.weights[member] += weight
        for kind in self._classes_of[member]:
            heapq.heappush(self._lightest[kind], (self.weights[member], member))

    def _lightest_with_capacity(self, kind: int) -> int | None:
        """Return the lightest subscriber below its limit, the first of equal ones; None if all are at their limit."""
        heap = self._lightest[kind]
        while heap:
            weight, member = heap[0]
            if weight == self.weights[member] and self.counts[member] < self._limits[member]:
                return member
            heapq.heappop(heap)  # this entry is outdated; a member that frees a place is pushed again
        return None

    def give_out(self, items: Iterable[Item], may_pass_on: Callable[[Item], bool]) -> bool:
        """Give every item, heaviest first, to the lightest subscriber below its limit.

        If all are at their limit, other items are passed on to free a place, as far as ``may_pass_on`` allows. Return
        False if this is not possible.
        """
        for item in sorted(items, key=lambda item: (-item[0], item[1:])):
            kind = self._class_of[item[1]]
            member = self._lightest_with_capacity(kind)
            if member is None:
                member = self._free_capacity(kind, may_pass_on)
            if member is None:
                return False
            self.add(member, item)
        return True

    def _free_capacity(self, kind: int, may_pass_on: Callable[[Item], bool]) -> int | None:
        """Pass items along a shortest path to a member below its limit; return the subscriber freed, or None."""
        reached_by: dict[int, tuple[int, Item] | None] = dict.fromkeys(self._members_of[kind])
        queue = list(reached_by)
        for giver in queue:
            for other, items in self._held[giver].items():
                item = next((item for item in items if may_pass_on(item)), None)
                for taker in self._members_of[other] if item else ():
                    if taker in reached_by or item is None:
                        continue
                    reached_by[taker] = (giver, item)
                    queue.append(taker)
                    if self.counts[taker] < self._limits[taker]:
                        return self._pass_along(taker, reached_by)
        return None

    def _pass_along(self, taker: int, reached_by: dict[int, tuple[int, Item] | None]) -> int:
        while (step := reached_by[taker]) is not None:
            giver, item = step
            self._remove(giver, item)
            self.add(taker, item)
            taker = giver
        return taker

    def even_out(self, may_move: Callable[[Item, int, int], bool]) -> None:
        """Move items from heavier to the lightest members while that lowers the weight of the heavier of the two.

        The heaviest member with such a move comes first, and the item that evens the two out best is moved. No member
        gets as heavy as the giver was. Ends when there is no such move, or when ``may_move`` (item, giver, taker)
        returns False.
        """
        members = sorted(range(len(self.weights)), key=lambda member: -self.weights[member])
        for _ in range(STEPS_PER_PARTITION_MAX * sum(self.counts)):
            step = next(filter(None, map(self._best_step, members)), None)
            if step is None or not may_move(*step):
                return
            item, giver, taker = step
            self._remove(giver, item)
            self.add(taker, item)
            members.sort(key=lambda member: -self.weights[member])

    def _best_step(self, giver: int) -> tuple[Item, int, int] | None:
        best: tuple[int, Item, int] | None = None
        for kind, items in self._held[giver].items():
            taker = self._lightest_with_capacity(kind)
            if taker is None:
                continue
            gap = self.weights[giver] - self.weights[taker]
            if items[0][0] >= gap:
                continue
            middle = bisect_left(items, (gap // 2,))
            for item in items[max(0, middle - 1) : middle + 1]:
                uneven = abs(2 * item[0] - gap)
                if item[0] < gap and (best is None or (uneven, item) < best[:2]):
                    best = (uneven, item, taker)
        return None if best is None else (best[1], giver, best[2])
