"""The estimated bytes of a group's state are at least those that it takes."""

from __future__ import annotations

import gc
import tracemalloc
from dataclasses import replace

import pytest
from bench.synthetic import PARTITIONS, generation

from rebalance_agent.groupprotocol.group_fact import group_fact
from rebalance_agent.groupprotocol.records import decode_record
from rebalance_agent.tracking.memory.state_budget import AWAITED_BYTES, GROUP_BYTES, state_bytes
from rebalance_agent.tracking.observed_record import observed_record
from rebalance_agent.tracking.tracker import Tracker
from support.memory import traced_memory
from support.tracker.tracking import T0, committed, feed, member, record, tick, topics

GROUPS = 10
REST_MS = 900_000
"""A time after which no episode can be revised."""


def _rebalance(tracker, number, at, members):
    """A generation of each group, whose members' subscriptions are like those of no other."""
    for index in range(GROUPS):
        own = 1 + number * GROUPS + index
        fact = group_fact(decode_record(*generation(f"hostile-{index:05}", own, T0 + at, members)))
        options = {"live": True, "replayed": False, "gap_offset": -1, "leader_epoch": 0}
        tracker.observe(observed_record(fact, T0 + at, T0 + at, 1, own, **options))


def _pass_time(tracker, at):
    tracker.observe(tick(at))
    while tracker.behind:
        tracker.observe(tick(at))


@pytest.mark.parametrize("members", [1, 20])
def test_a_state_counts_for_what_it_takes_while_it_rebalances_and_at_rest(members):
    _rebalance(Tracker("warm"), 0, 0, members)
    tracker = Tracker("c")
    feed(tracker, topics(0, orders=PARTITIONS), commits=False)
    gc.collect()
    with traced_memory():
        for at in (0, 5_000, 10_000):
            _rebalance(tracker, at // 5_000, at, members)
            _pass_time(tracker, at + 5_000)
        _check(tracker)
        for at in range(30_000, REST_MS, 100_000):
            _pass_time(tracker, at)
        _check(tracker)


def _check(tracker):
    views = [tracker.view(group) for group in tracker.groups()]
    assert len(views) == GROUPS
    gc.collect()
    taken, _ = tracemalloc.get_traced_memory()
    assert taken <= tracker.state_budget.size_bytes


def test_each_generation_that_is_kept_counts_for_its_own_size():
    """A group that alternates between two partitions and 2,000: the small ones do not hide the large ones."""
    tracker = Tracker("c")
    feed(tracker, topics(0, t=2_000), commits=False)
    gc.collect()
    with traced_memory() as used:
        for number in range(1, 15):
            partitions = tuple(range(2_000)) if number % 2 else (0, 1)
            feed(tracker, record(2_000 * number, number, member("a", partitions)), tick(2_000 * number), commits=False)
        gc.collect()
        taken, _ = used()
    assert taken <= 2 * tracker.state_budget.size_bytes


def test_a_partition_counts_until_its_commit_came():
    sizes = []
    for commits in ([], [committed(500, 0, 1)]):
        tracker = Tracker("c")
        feed(tracker, topics(0, t=2), record(0, 1, member("a", (0, 1))), *commits, tick(700_000), commits=False)
        sizes.append(tracker.state_budget.size_bytes)
    assert sizes[0] - sizes[1] == 2 * AWAITED_BYTES


def test_the_bytes_of_a_record_and_of_a_name_count():
    """A member's user data is kept, and so is a name of 30,000 characters."""
    value = record(0, 1, member("a", (0,))).value
    assert state_bytes(replace(value, size_bytes=900_000)) - state_bytes(replace(value, size_bytes=0)) == 900_000
    tracker = Tracker("c")
    feed(tracker, record(0, 1, member("a"), group="x" * 30_000), commits=False)
    assert tracker.state_budget.size_bytes >= GROUP_BYTES + 30_000
