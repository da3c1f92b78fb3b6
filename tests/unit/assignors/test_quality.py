from __future__ import annotations

import pytest

from rebalance_agent.assignors import judge, strategy
from rebalance_agent.model.subscription import GroupAssignment, TopicMetadata
from support.assignors.rules import WEIGHT, group, member


def given_out(**members):
    return GroupAssignment(members=members, target=members)


def test_an_assignment_of_another_library_is_measured():
    subject = group({"t": 4, "u": 2}, member("a", "t u"), member("b", "t u"))
    quality = judge(subject, given_out(a={"t": (0, 1, 2), "u": (0,)}, b={"u": (1,)}))
    assert quality.spread == 3
    assert quality.max_mean_ratio == 1.6
    assert quality.skew_ratio == 4 / 3
    assert quality.imbalance == 1
    assert quality.unassigned == 1
    assert quality.topic_spread == {"t": 0.5, "u": 1.0}
    assert quality.copartition_breaks is None
    assert quality.rack_misses is None


def test_invalid_entries_do_not_raise():
    subject = group({"t": 2}, member("a", "t"), member("b", ""))
    quality = judge(subject, given_out(a={"t": (0, 9, -1), "gone": (1,)}, b={"t": (0,)}, stranger={"t": (1,)}))
    assert quality.moved_min is None
    assert quality.unassigned == 1


@pytest.mark.parametrize(
    "odd",
    [
        {"a": {"t": (0, 9)}, "b": {"t": (1,)}},
        {"a": {"t": (0, 1)}, "b": {"t": (1,)}},
        {"a": {"t": (0,)}, "b": {"u": (0,)}},
        {"a": {"t": (0,), "gone": (0,)}, "b": {"t": (1,)}},
        {"a": {"t": (0,)}, "stranger": {"t": (1,)}},
    ],
)
def test_the_minimum_of_moves_is_unknown_for_strategies_with_other_goals(odd):
    subject = group({"t": 2, "u": 1}, member("a", "t u", owned={"t": (1,)}), member("b", "t"))
    assert judge(subject, given_out(**odd)).moved_min is None


def test_excess_moves_are_counted():
    owned = {"a": {"t": (0, 1)}, "b": {"t": (2, 3)}}
    subject = group({"t": 4}, *(member(name, "t", owned=owned[name]) for name in owned))
    quality = judge(subject, given_out(a={"t": (2, 3)}, b={"t": (0, 1)}))
    assert (quality.moved, quality.moved_min) == (4, 0)


def test_loads_of_members_with_different_promises_are_not_exchanged():
    subject = group(
        {"t": 10},
        member("a", "t", owned={"t": (0,)}, config={WEIGHT: "9"}),
        member("b", "t", owned={"t": tuple(range(1, 10))}),
    )
    weighted = strategy("weighted-sticky")
    quality = judge(subject, weighted.assign(subject), weighted)
    assert (quality.moved, quality.moved_min) == (8, 8)


def test_copartition_breaks_are_counted_by_partition_number():
    subject = group({"t": 3, "u": 3, "v": 3, "w": 2}, member("a", "t u v w"), member("b", "t u v w"))
    quality = judge(
        subject,
        given_out(a={"t": (0, 1), "u": (0, 1), "v": (0,), "w": (0,)}, b={"t": (2,), "u": (2,), "v": (1, 2), "w": (1,)}),
    )
    assert quality.copartition_breaks == 1


def test_a_rack_miss_is_one_that_could_have_been_avoided():
    topic = TopicMetadata(3, (("r1",), ("r2",), ("r9",)))
    subject = group({"t": topic}, member("a", "t", rack="r1"), member("b", "t", rack="r2"))
    assert judge(subject, given_out(a={"t": (1, 2)}, b={"t": (0,)})).rack_misses == 2
    assert judge(subject, given_out(a={"t": (0, 2)}, b={"t": (1,)})).rack_misses == 0


def test_cooperative_rounds_are_measured_together():
    subject = group({"t": 4}, member("a", "t", owned={"t": (0, 1, 2, 3)}), member("b", "t"))
    cooperative = strategy("cooperative-weighted-sticky")
    result = cooperative.assign(subject)
    assert result.members["b"] == {}
    quality = judge(subject, result, cooperative)
    assert (quality.spread, quality.unassigned, quality.moved, quality.moved_min) == (0, 0, 2, 2)


def test_many_members_with_mixed_subscriptions_are_measured_without_trying_every_exchange():
    topics = {f"t{n}": n + 1 for n in range(12)}
    subject = group(
        topics, *(member(f"m{n}", " ".join([*topics][: n + 1]), owned={"t0": (0,)} if not n else {}) for n in range(12))
    )
    quality = judge(subject, strategy("range").assign(subject))
    assert 0 <= quality.moved_min <= quality.moved
