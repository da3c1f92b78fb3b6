"""The models of the brokers' assignors give the same results as the broker's own classes, given its order."""

from __future__ import annotations

import pytest

from rebalance_agent.assignors.broker import BROKER_ASSIGNORS
from rebalance_agent.assignors.broker.java_order import map_order, set_order
from rebalance_agent.model.subscription import member_order
from support.assignors.broker_groups import broker_group, broker_roster
from support.examples import examples

jpype = pytest.importorskip("jpype", reason="runs Java in this process")
from support.assignors.kafkas_broker import KafkasAssignor  # noqa: E402 - needs jpype

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("name", BROKER_ASSIGNORS)
def test_assignments_equal_those_of_the_brokers_own_classes(name):
    kafkas, moved = KafkasAssignor(name), 0
    for seed in range(examples(200)):
        group = broker_group(seed)
        theirs, order = kafkas.assign(group, seed)
        # `range` sorts members itself, as a roster does.
        order = order if name == "uniform" else [each.member_id for each in sorted(group.members, key=member_order)]
        roster = broker_roster(group, order)
        ours = dict(zip(order, BROKER_ASSIGNORS[name].plan(roster), strict=True))
        assert ours == {member_id: theirs.get(member_id, {}) for member_id in order}, seed
        moved += any(each.owned and each.owned != ours[each.member_id] for each in group.members)
    assert moved > examples(40)


def test_members_are_in_the_order_of_javas_map():
    for seed in range(examples(60)):
        group = broker_group(seed)
        _, order = KafkasAssignor("range").assign(group, seed)
        assert map_order(each.member_id for each in group.members) == order


def test_numbers_are_in_the_order_of_javas_set():
    array_list, hash_set = jpype.JClass("java.util.ArrayList"), jpype.JClass("java.util.HashSet")
    for numbers in ([], [1, 16], range(3, 300, 7), [70_000, 2, 65_537]):
        every = array_list()
        for number in numbers:
            every.add(jpype.JInt(number))
        assert set_order(list(numbers)) == [int(number) for number in hash_set(every)]
