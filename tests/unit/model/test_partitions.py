from __future__ import annotations

import pytest

from rebalance_agent.model.partitions import pairs, pairs_of, shared_set


@pytest.mark.parametrize("numbers", [(), (0,), (3, 1, 2), (-1, 5), (5, 2_000), (1_023,), (1_024,), range(1_500)])
def test_pairs_are_topic_and_partition_in_order(numbers):
    assert list(pairs_of("t", numbers)) == [("t", number) for number in numbers]


def test_pairs_are_shared_also_after_a_topic_has_more_partitions():
    before, _ = pairs_of("shared", (2, 3))
    list(pairs_of("shared", range(2_000)))
    after, _ = pairs_of("shared", (2, 4))
    assert before is after


def test_many_topics_are_not_all_remembered():
    first, _ = pairs_of("first", (0, 1))
    for number in range(200):
        list(pairs_of(f"other-{number}", (0, 1)))
    again, _ = pairs_of("first", (0, 1))
    assert first == again
    assert first is not again


def test_small_sets_are_shared():
    sets = [shared_set(frozenset(pairs({"t": (0, 1)}))) for _ in range(2)]
    assert sets[0] is sets[1]


def test_large_sets_are_not_shared():
    sets = [shared_set(frozenset(pairs({"t": range(1_000)}))) for _ in range(2)]
    assert sets[0] == sets[1]
    assert sets[0] is not sets[1]
