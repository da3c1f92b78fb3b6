"""Figures of assignments from any source."""

from __future__ import annotations

import pytest

from rebalance_agent.assignors import judge
from rebalance_agent.model.subscription import GroupAssignment
from support.assignors.rules import group, member


def judged(subscription, **target):
    return judge(subscription, GroupAssignment(members=target, target=target))


THREE_ALIKE = group({"a": 3, "b": 3, "c": 3}, member("x", "a b c"), member("y", "a b c"))


def test_copartition_breaks_are_counted_once_over_all_topics():
    quality = judged(
        THREE_ALIKE,
        x={"a": (0, 1), "b": (0, 2), "c": (0, 1)},
        y={"a": (2,), "b": (1,), "c": (2,)},
    )
    assert quality.copartition_breaks == 2
    quality = judged(
        THREE_ALIKE,
        x={"a": (0,), "b": (0, 1), "c": (0, 2)},
        y={"a": (1, 2), "b": (2,), "c": (1,)},
    )
    assert quality.copartition_breaks == 2


def test_the_order_within_an_assignment_is_irrelevant():
    owned = {"a": (0, 1), "b": (2,)}
    settled = group({"a": 3, "b": 3}, member("x", "a b", owned=owned, generation=1), member("y", "a b"))
    quality = judged(settled, x={"a": (1, 0), "b": (2,)}, y={"a": (2,), "b": (1, 0)})
    assert (quality.moved, quality.moved_min, quality.unassigned) == (0, 0, 0)


@pytest.mark.parametrize(
    ("x", "y", "unassigned"),
    [
        ({"a": (0, 1)}, {"a": (1, 2)}, 0),
        ({"a": (0, 0)}, {"a": (1,)}, 1),
        ({"a": (0, 1, 2, 3)}, {}, 0),
        ({"a": (0, 1, -1)}, {"a": ()}, 1),
    ],
)
def test_duplicate_and_nonexistent_partitions_count_once_and_make_moves_unknown(x, y, unassigned):
    subscription = group({"a": 3}, member("x", "a"), member("y", "a"))
    quality = judged(subscription, x=x, y=y)
    assert quality.unassigned == unassigned
    assert quality.moved_min is None


def test_moves_are_unknown_if_a_partition_is_assigned_to_a_member_that_does_not_subscribe():
    subscription = group({"a": 1, "b": 1}, member("x", "a b"), member("y", "a"))
    assert judged(subscription, x={"a": (0,)}, y={"b": (0,)}).moved_min is None
