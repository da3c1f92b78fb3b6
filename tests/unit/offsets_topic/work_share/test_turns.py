"""Groups that wait get equal work, and new groups together get half of the time."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.offsets_topic.work_share.turns import Turns


def _work(turns, costs, new, seconds):
    """Let groups with endless records take turns for ``seconds``; return the work of each group."""
    work = dict.fromkeys(costs, 0.0)
    for group in costs:
        turns.add(group, costs[group], new=group in new, seen=True)
    while sum(work.values()) < seconds:
        group = turns.pop()
        turns.spend(group, costs[group])
        work[group] += costs[group]
        turns.add(group, costs[group], new=group in new, seen=True)
    return work


@given(st.dictionaries(st.binary(min_size=1, max_size=2), st.sampled_from([0.004, 0.02, 0.1]), min_size=1, max_size=9))
def test_known_groups_get_equal_work_whatever_their_records_cost(costs):
    work = _work(Turns(), costs, (), 5.0)
    assert max(work.values()) - min(work.values()) <= 2 * max(costs.values()) + 1e-9


@given(st.integers(1, 20), st.integers(1, 20), st.sampled_from([0.004, 0.1]), st.sampled_from([0.004, 0.1]))
def test_new_groups_together_get_half_of_the_time(known, new, known_cost, new_cost):
    costs = {b"known %d" % each: known_cost for each in range(known)}
    created = {b"new %d" % each: new_cost for each in range(new)}
    work = _work(Turns(), costs | created, created, 5.0)
    assert sum(work[group] for group in created) == pytest.approx(2.5, abs=0.11)


def test_a_group_that_has_caused_no_work_is_next():
    turns = Turns()
    _work(turns, {b"hostile %d" % each: 0.1 for each in range(10)}, (), 5.0)
    turns.add(b"orders", 0.01, new=False, seen=True)
    assert turns.pop() == b"orders"


def test_a_known_group_does_not_wait_for_more_than_one_record_of_new_groups():
    turns = Turns()
    _work(turns, {b"new %d" % each: 0.1 for each in range(10)}, {b"new %d" % each for each in range(10)}, 5.0)
    turns.add(b"orders", 0.01, new=False, seen=True)
    assert turns.pop() == b"orders"


def test_every_second_new_group_is_the_one_that_came_last():
    turns = Turns()
    for number in range(6):
        turns.add(b"%d" % number, 0.1, new=True, seen=number == 5)
    assert [turns.pop() for _ in range(6)] == [b"4", b"0", b"3", b"1", b"2", b"5"]


def test_work_before_a_pause_does_not_count():
    turns = Turns()
    _work(turns, {b"busy": 0.1}, (), 5.0)
    turns.pop()
    turns.reset()
    turns.add(b"busy", 0.1, new=False, seen=True)
    turns.add(b"other", 0.1, new=False, seen=True)
    assert [turns.pop(), turns.pop()] == [b"busy", b"other"]


def test_small_records_come_before_large_ones():
    turns = Turns()
    turns.add(b"large", 0.1, new=False, seen=True)
    turns.add(b"small", 0.01, new=False, seen=True)
    assert [turns.pop(), turns.pop()] == [b"small", b"large"]


def test_a_group_pays_for_the_work_that_its_record_caused_and_not_for_the_work_that_was_possible():
    work = {b"bytes": 0.0, b"partitions": 0.0}
    turns = Turns()
    for group in work:
        turns.add(group, 0.1, new=False, seen=True)
    for _ in range(100):
        group = turns.pop()
        seconds = 0.01 if group == b"bytes" else 0.1
        turns.spend(group, seconds)
        work[group] += seconds
        turns.add(group, 0.1, new=False, seen=True)
    assert work[b"bytes"] == pytest.approx(work[b"partitions"], abs=0.11)
