"""``lag-aware`` balances loads instead of counts, within limits."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.assignors import judge, strategy
from rebalance_agent.errors import AssignmentError
from rebalance_agent.model.partitions import count_partitions
from rebalance_agent.model.subscription import TopicMetadata
from support.assignors.rules import group, member

LAG_AWARE = strategy("lag-aware")
FACTOR, MOVES = "assignment.max.count.factor", "assignment.max.moves"


def loaded(*loads, **owned):
    return group(
        {"t": TopicMetadata(len(loads), loads=tuple(map(float, loads)))},
        *(member(name, "t", owned={"t": numbers}, generation=1) for name, numbers in owned.items()),
    )


def assigned(subject, **config):
    return {
        name: given.get("t", ()) for name, given in LAG_AWARE.assign(replace(subject, config=config)).members.items()
    }


def test_heavy_partitions_go_to_different_members():
    assert assigned(loaded(9, 8, 1, 1, a=(), b=())) in ({"a": (0, 3), "b": (1, 2)}, {"a": (0,), "b": (1, 2, 3)})


def test_a_balance_with_a_single_move_is_found():
    subject = loaded(5, 5, 5, 5, 4, a=(0, 1, 2, 3), b=(4,))
    assert assigned(subject, **{MOVES: "0"}) == {"a": (0, 1, 2, 3), "b": (4,)}
    moved = assigned(subject, **{MOVES: "1"})
    assert (len(moved["a"]), len(moved["b"])) == (3, 2)


def test_the_limit_of_counts_has_priority_over_the_limit_of_moves():
    subject = loaded(1, 1, 1, 1, 1, 9, a=(0, 1, 2, 3, 4, 5), b=())
    counts = {name: len(given) for name, given in assigned(subject, **{MOVES: "0", FACTOR: "1"}).items()}
    assert counts == {"a": 3, "b": 3}


def test_a_member_gets_light_partitions_up_to_the_factor():
    subject = loaded(100, *[1] * 19, a=(), b=())
    counts = {factor: len(assigned(subject, **{FACTOR: factor})["b"]) for factor in ("1", "1.1", "1.5", "2")}
    assert counts == {"1": 10, "1.1": 11, "1.5": 15, "2": 19}


def test_a_newcomer_gets_partitions_although_one_partition_outweighs_all_others():
    subject = loaded(1000, *[10] * 10, a=(0,), b=tuple(range(1, 11)), c=())
    assert len(assigned(subject, **{FACTOR: "9"})["c"]) == 5


def test_quality_measures_counts_against_their_limit():
    subject = loaded(100, *[1] * 9, a=(), b=())
    quality = judge(subject, LAG_AWARE.assign(subject), LAG_AWARE)
    assert (quality.spread, quality.imbalance, quality.skew_ratio) == (8, 0, 1.0)
    assert LAG_AWARE.targets(subject) == {"a": 10, "b": 10}


@pytest.mark.parametrize(("setting", "text"), [(FACTOR, "0.9"), (FACTOR, "x"), (MOVES, "-1"), (MOVES, "1.5")])
def test_invalid_limits_are_refused(setting, text):
    with pytest.raises(AssignmentError, match=setting):
        assigned(loaded(1, a=()), **{setting: text})


def test_a_member_gives_partitions_away_to_take_those_that_only_it_subscribes_to():
    topics = {"t": TopicMetadata(4, loads=(9.0, 9.0, 9.0, 9.0)), "u": TopicMetadata(4, loads=(1.0, 2.0, 3.0, 4.0))}
    subject = group(topics, member("a", "t u", owned={"t": (0, 1, 2, 3)}, generation=1), member("b", "t"))
    result = LAG_AWARE.assign(replace(subject, config={FACTOR: "1"}))
    assert {name: count_partitions(given) for name, given in result.members.items()} == {"a": 4, "b": 4}
    assert result.members["b"] == {"t": (0, 1, 2, 3)}


def test_the_factor_is_a_decimal_number():
    subject = loaded(1000, *[1] * 99, a=(), b=())  # in binary floating point, 1.1 * 50 exceeds 55
    assert len(assigned(subject, **{FACTOR: "1.1"})["b"]) == 55


def test_a_deadlock_without_a_single_improving_move_is_reassigned_if_the_limit_of_moves_allows():
    subject = loaded(3, 3, 1, 1, 1, 1, 1, 1, a=(0, 1), b=(2, 3, 4), c=(5, 6, 7))
    weight = dict(enumerate((3, 3, 1, 1, 1, 1, 1, 1)))

    def loads(config):
        return {name: sum(weight[number] for number in given) for name, given in assigned(subject, **config).items()}

    assert loads({}) == {"a": 4, "b": 4, "c": 4}
    assert loads({MOVES: "1"}) == {"a": 6, "b": 3, "c": 3}
