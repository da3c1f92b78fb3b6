"""The model of the brokers' ``uniform`` assignor; tests/peers compares it with Kafka's own class."""

from __future__ import annotations

from rebalance_agent.assignors.broker import BROKER_ASSIGNORS
from rebalance_agent.assignors.roster import prepare_roster
from support.assignors.rules import group, member


def given(subject, name="uniform"):
    return BROKER_ASSIGNORS[name].plan(prepare_roster(subject))


def test_members_that_have_one_partition_more_keep_it():
    subject = group(
        {"t": 4}, member("a", "t", owned={"t": (3,)}), member("b", "t"), member("c", "t", owned={"t": (0, 1)})
    )
    assert given(subject) == [{"t": (3,)}, {"t": (2,)}, {"t": (0, 1)}]


def test_the_last_members_get_one_partition_more_at_first():
    subject = group({"t": 5}, member("a", "t"), member("b", "t"), member("c", "t"))
    assert given(subject) == [{"t": (0,)}, {"t": (1, 2)}, {"t": (3, 4)}]


def test_a_full_member_gives_up_what_java_sets_have_last():
    # 16 has the first bucket of a set with fewer than 13 numbers.
    subject = group({"t": 17}, member("a", "t", owned={"t": (0, 1, 2, 3, 4, 5, 6, 7, 8, 16)}), member("b", "t"))
    assert given(subject)[0] == {"t": (0, 1, 2, 3, 4, 5, 6, 7, 16)}


def test_topics_with_most_partitions_per_subscriber_come_first_in_a_mixed_group():
    subject = group({"t": 2, "u": 3}, member("a", "t u"), member("b", "t"), member("c", "u"))
    assert given(subject) == [{"u": (0, 2)}, {"t": (0, 1)}, {"u": (1,)}]


def test_partitions_move_in_a_mixed_group_until_each_topic_is_balanced():
    subject = group({"t": 4, "u": 1}, member("a", "t u", owned={"t": (0, 1, 2, 3), "u": (0,)}), member("b", "t"))
    assert given(subject) == [{"t": (0, 1), "u": (0,)}, {"t": (2, 3)}]


def test_a_name_without_a_topic_makes_a_group_mixed():
    # Alone, `b` would get one partition more; in mixed groups the first of equal members does.
    subject = group({"t": 3}, member("a", "t"), member("b", "t gone"))
    assert given(subject) == [{"t": (0, 2)}, {"t": (1,)}]


def test_range_ignores_racks():
    subject = group({"t": 3}, member("a", "t", rack="r1"), member("b", "t", rack="r2"))
    assert given(subject, "range") == [{"t": (0, 1)}, {"t": (2,)}]


def test_a_group_without_members_gets_nothing():
    assert given(group({"t": 3})) == []
