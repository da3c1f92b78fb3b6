"""``redundant``: several members for each partition."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.assignors import judge, strategy
from rebalance_agent.errors import AssignmentError
from support.assignors.rules import group, member

REDUNDANT = strategy("redundant")
COPIES = "assignment.redundancy"


def holders(result, topic):
    found = {}
    for name, given in result.members.items():
        for number in given.get(topic, ()):
            found.setdefault(number, set()).add(name)
    return found


def test_each_partition_goes_to_two_members_of_different_racks():
    subject = group({"t": 4}, *(member(name, "t", rack=f"r{place // 2}") for place, name in enumerate("abcd")))
    result = REDUNDANT.assign(subject)
    assert result.redundancy == 2
    for some in holders(result, "t").values():
        assert len(some & set("ab")) == len(some & set("cd")) == 1
    quality = judge(subject, result, REDUNDANT)
    assert (quality.spread, quality.unassigned, quality.imbalance, quality.moved_min) == (0, 0, 0, None)


def test_all_subscribers_get_a_partition_if_they_are_fewer_than_its_copies():
    subject = replace(group({"t": 2, "u": 1}, member("a", "t u"), member("b", "t")), config={COPIES: "3"})
    assert REDUNDANT.assign(subject).members == {"a": {"t": (0, 1), "u": (0,)}, "b": {"t": (0, 1)}}


def test_members_keep_their_copies_when_a_member_leaves():
    owned = {"a": (0, 1, 2), "b": (0, 3, 4), "c": (1, 3, 5)}  # d, which owned 2, 4 and 5, has left
    subject = group({"t": 6}, *(member(name, "t", owned={"t": some}, generation=3) for name, some in owned.items()))
    result = REDUNDANT.assign(subject)
    for name, some in owned.items():
        assert set(some) < set(result.members[name]["t"])
    assert {number: len(some) for number, some in holders(result, "t").items()} == dict.fromkeys(range(6), 2)


def test_a_lower_redundancy_revokes_copies():
    owned = {"t": (0, 1, 2, 3)}
    subject = group({"t": 4}, *(member(name, "t", owned=owned, generation=3) for name in "ab"))
    result = REDUNDANT.assign(replace(subject, config={COPIES: "1"}))
    assert result.redundancy == 1
    assert sorted(len(given["t"]) for given in result.members.values()) == [2, 2]
    assert judge(subject, result, REDUNDANT).unassigned == 0


def test_copies_of_a_topic_spread_over_members():
    subject = group(dict.fromkeys("tuv", 3), *(member(name, "t u v") for name in "abc"))
    assert all(given.keys() == set("tuv") for given in REDUNDANT.assign(subject).members.values())


@pytest.mark.parametrize("text", ["0", "1001", "two"])
def test_an_invalid_redundancy_is_refused(text):
    with pytest.raises(AssignmentError, match=COPIES):
        REDUNDANT.assign(replace(group({"t": 1}), config={COPIES: text}))
