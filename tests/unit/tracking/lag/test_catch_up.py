"""Moved partitions that catch up, measured every 10 seconds."""

import pytest

from rebalance_agent.tracking.lag.catch_up import CatchUp, CatchUps
from rebalance_agent.tracking.lag.end_offsets import EndOffsets

T0, T1 = ("t", 0), ("t", 1)


class Group:
    """Measurements of two partitions; omitted values stay unchanged."""

    def __init__(self, owners="a", committed=(100, 100), end=(100, 100)):
        self.ends, self.catch_ups, self.now = EndOffsets(), CatchUps(), 0.0
        self.owners, self.committed, self.end = owners, committed, end
        self.first = self.measure()

    def measure(self, owners="", committed=None, end=None):
        """``owners``: a letter per partition, or one for both; a dot has none, a slash separates two. None: unknown."""
        self.now += 10
        self.owners = self.owners if owners == "" else owners
        self.committed, self.end = committed or self.committed, end or self.end
        self.ends.take(self.now, {pair: end for pair, end in zip((T0, T1), self.end, strict=True) if end is not None})
        commits = {pair: each for pair, each in zip((T0, T1), self.committed, strict=True) if each is not None}
        return self.catch_ups.take(self.now, holders(self.owners), commits, self.ends)


def holders(text):
    if text is None:
        return None
    each = text.split("/") if "/" in text else list(text) if len(text) == 2 else [text] * 2
    return {pair: frozenset(names) for pair, names in zip((T0, T1), each, strict=True) if names != "."}


def test_a_moved_partition_catches_up_until_what_was_appended_until_then_is_committed():
    group = Group()
    assert group.first == CatchUp()
    assert group.measure("ab", end=(500, 500)) == CatchUp(1, 1, 0.0, 0.0)
    assert group.measure(committed=(100, 300), end=(500, 900)) == CatchUp(1, 1, 10.0, 10.0)
    assert group.measure(committed=(100, 497)) == CatchUp(1, 1, 20.0, 20.0)
    assert group.measure(committed=(100, 500)) == CatchUp(0, 1, 20.0, 20.0)
    assert group.measure() == CatchUp(0, 1, 20.0, 20.0)


def test_partition_seconds_are_summed_over_partitions_and_the_longest_time_counts():
    group = Group()
    group.measure("b", end=(500, 500))
    assert group.measure(committed=(100, 500)) == CatchUp(1, 2, 10.0, 10.0)
    group = Group()
    group.measure("b", end=(500, 500))
    group.measure(committed=(100, 400))
    assert group.measure(committed=(100, 500)) == CatchUp(1, 2, 20.0, 30.0)


@pytest.mark.parametrize("left", [0, 1, 2])
def test_a_partition_that_has_caught_up_when_first_seen_costs_nothing(left):
    """Some consumers never commit a transaction marker at the end."""
    group = Group()
    assert group.measure("b", (500 - left, 500), (500, 500)) == CatchUp(0, 2, 0.0, 0.0)
    assert group.measure() == CatchUp(0, 2, 0.0, 0.0)


def test_the_first_owners_that_are_known_are_no_moves():
    group = Group(owners=None, end=(500, 500))
    assert group.measure("a") == CatchUp()
    assert group.measure() == CatchUp()
    assert group.measure("ab").partitions == 1


def test_while_owners_are_unknown_open_catch_ups_continue_and_the_next_owners_are_compared_with_the_last_known():
    group = Group()
    group.measure("ab", end=(500, 500))
    assert group.measure(None) == CatchUp(1, 1, 10.0, 10.0)
    assert group.measure("bb") == CatchUp(2, 2, 20.0, 20.0)
    assert group.measure(None, committed=(500, 500)) == CatchUp(0, 2, 20.0, 20.0)


def test_a_partition_without_an_owner_before_has_moved_if_it_has_a_commit():
    group = Group("..", committed=(100, None), end=(500, 500))
    assert group.measure("a") == CatchUp(1, 1, 0.0, 0.0)


def test_a_partition_that_moves_again_keeps_its_start_and_gets_a_new_target():
    group = Group()
    group.measure("ab", end=(500, 500))
    assert group.measure("aa", end=(500, 700)) == CatchUp(1, 1, 10.0, 10.0)
    assert group.measure(committed=(100, 600)) == CatchUp(1, 1, 20.0, 20.0)
    assert group.measure(committed=(100, 700)) == CatchUp(0, 1, 20.0, 20.0)


def test_a_partition_that_moves_again_after_catching_up_has_a_new_start():
    group = Group()
    group.measure("b", end=(500, 500))
    assert group.measure("bc", committed=(100, 500), end=(500, 700)) == CatchUp(2, 2, 10.0, 10.0)
    assert group.measure() == CatchUp(2, 2, 20.0, 30.0)


def test_the_next_catch_up_begins_when_partitions_move_after_all_have_caught_up():
    group = Group()
    group.measure("b", end=(500, 500))
    group.measure()
    group.measure(committed=(500, 500))
    assert group.measure("ba", end=(500, 900)) == CatchUp(1, 1, 0.0, 20.0)
    assert group.measure() == CatchUp(1, 1, 10.0, 30.0)


@pytest.mark.parametrize(
    "then",
    [
        pytest.param({"owners": "a."}, id="no owner"),
        pytest.param({"committed": (100, None)}, id="no commit"),
        pytest.param({"end": (100, 50)}, id="fallen end"),
    ],
)
def test_a_catch_up_that_became_impossible_is_dropped_without_added_time(then):
    group = Group()
    group.measure("ab", end=(100, 500))
    group.measure()
    assert group.measure(**then) == CatchUp(0, 1, 10.0, 10.0)


def test_a_topic_that_is_created_anew_while_its_partition_moves_gets_the_new_end_as_target():
    group = Group()
    group.measure("ab", end=(100, 500))
    group.measure()
    assert group.measure("aa", committed=(100, 10), end=(100, 50)) == CatchUp(1, 1, 0.0, 10.0)


def test_while_an_end_offset_is_unknown_time_is_counted_and_a_move_has_no_target():
    group = Group()
    group.measure("ab", end=(500, 500))
    assert group.measure(end=(None, None)) == CatchUp(1, 1, 10.0, 10.0)
    assert group.measure("ba", end=(None, 500)) == CatchUp(1, 1, 20.0, 20.0)


def test_a_further_owner_of_a_partition_is_no_move():
    group = Group("ab/ab", end=(500, 500))
    assert group.measure("bc/b") == CatchUp()
    assert group.measure("a/b").partitions == 1
