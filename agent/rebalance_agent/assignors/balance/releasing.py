"""Takes surplus partitions from members above their load; with equal subscriptions, any of their partitions can go."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from itertools import accumulate

from rebalance_agent.assignors.roster import Plan

__all__ = ["release"]


def release(plan: Plan, owned: Sequence[int], loads: Sequence[int]) -> dict[str, list[int]]:
    """Remove from ``plan`` what members own above their loads; return topic -> released numbers.

    Every n-th partition is released, from a different offset for each member, so that a new member gets some partitions
    of every topic.
    """
    freed: dict[str, list[int]] = {}
    overfull = [member for member, have in enumerate(owned) if have > loads[member]]
    for turn, member in enumerate(overfull):
        have, given = owned[member], plan[member]
        gone = have - loads[member]
        begin = turn * have // len(overfull)
        topics = sorted(given)
        ends = list(accumulate(len(given[topic]) for topic in topics))
        going: dict[str, set[int]] = {}
        for step in range(1, gone + 1):
            # The positions where (begin + position * gone) // have rises, computed directly.
            position = -((begin - step * have) // gone) - 1
            topic_index = bisect_right(ends, position)
            topic = topics[topic_index]
            going.setdefault(topic, set()).add(given[topic][position - ends[topic_index]])
        for topic, numbers in going.items():
            freed.setdefault(topic, []).extend(numbers)
            if len(numbers) == len(given[topic]):
                del given[topic]
            else:
                given[topic] = tuple(number for number in given[topic] if number not in numbers)
    return freed
