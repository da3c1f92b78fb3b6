from __future__ import annotations

import pytest
from kafka.coordinator.assignors.range import RangePartitionAssignor

from rebalance_agent.assignors import strategy
from rebalance_agent.clients.kafka_python import StrategyAssignor
from rebalance_agent.clients.kafka_python.assignor_list import all_cooperative, assignors, strategies
from rebalance_agent.clients.participant import Participant
from rebalance_agent.clients.strategy_entries import entries
from rebalance_agent.errors import AssignmentError

STICKY = strategy("sticky")
COOPERATIVE = strategy("cooperative-sticky")


def made(*wanted):
    return assignors(entries(wanted), lambda each: StrategyAssignor(each, Participant([each], {}, group="g")))


@pytest.mark.parametrize("wanted", ["sticky", STICKY, ["sticky"], (STICKY,)])
def test_a_single_strategy_may_be_given_by_name_or_as_an_object(wanted):
    assert entries(wanted) == [STICKY]


def test_strategies_are_in_order_of_preference_and_classes_become_instances():
    instance = RangePartitionAssignor()
    both = made("cooperative-sticky", instance)
    assert [each.name for each in both] == ["cooperative-sticky", "range"]
    assert both[1] is instance
    assert isinstance(made(RangePartitionAssignor)[0], RangePartitionAssignor)


def test_only_our_strategies_have_settings():
    assert strategies(entries(["sticky", RangePartitionAssignor])) == {"sticky": STICKY}


def test_an_empty_list_an_unknown_name_and_a_name_twice_are_refused():
    with pytest.raises(AssignmentError, match="partition_assignment_strategy: must contain at least one strategy"):
        entries([])
    with pytest.raises(AssignmentError, match="there is no strategy 'stikcy'"):
        entries("stikcy")
    with pytest.raises(AssignmentError, match="two entries are named 'range'"):
        made("range", RangePartitionAssignor)


@pytest.mark.parametrize(
    ("wanted", "cooperative"),
    [
        (["cooperative-sticky"], True),
        (["cooperative-sticky", "cooperative-failover"], True),
        (["cooperative-sticky", "range"], False),
        ([COOPERATIVE, RangePartitionAssignor], False),
        (["sticky"], False),
    ],
)
def test_a_consumer_is_cooperative_if_all_of_its_strategies_are(wanted, cooperative):
    assert all_cooperative(made(*wanted)) is cooperative
