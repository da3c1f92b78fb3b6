"""Consumers accept strategies of other packages by name or as objects, and never use a wrong result."""

from __future__ import annotations

import pytest
from aiokafka.coordinator.assignors.range import RangePartitionAssignor

from rebalance_agent.assignors import Strategy, find_strategy
from rebalance_agent.assignors.strategies.range import ranges
from rebalance_agent.clients.aiokafka.consumer import _entries as aiokafka_entries
from rebalance_agent.clients.confluent_assignors.config.client_settings import ClientSettings
from rebalance_agent.clients.participant import Participant
from rebalance_agent.clients.strategy_entries import entries
from rebalance_agent.clock import FakeClock
from rebalance_agent.errors import AssignmentError, StrategyFailedError
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.subscription import MemberSubscription, TopicMetadata
from support.assignors.plugin_site import Entry, declared

TOPICS = {"t": TopicMetadata(2)}
MEMBERS = [MemberSubscription("a", ("t",)), MemberSubscription("b", ("t",))]


def own(plan=ranges, name="own"):
    return Strategy(name, RebalanceProtocol.EAGER, "as range", plan, cooperative_form=True)


def twice(roster):
    """A wrong plan: both members get everything."""
    return [dict.fromkeys(roster.topics, (0, 1)) for _ in roster.members]


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    declared(monkeypatch, Entry("own", own()), Entry("wrong", own(twice, "wrong")), Entry("broken", ImportError("x")))


def test_every_adapter_finds_an_installed_strategy_by_name():
    strategy = find_strategy("own")
    assert entries(["own", "cooperative-own"]) == [strategy, strategy.cooperative()]
    assert aiokafka_entries(["own", RangePartitionAssignor]) == [strategy, RangePartitionAssignor]
    config = {"bootstrap.servers": "h:1", "group.id": "g", "partition.assignment.strategy": "cooperative-own,own"}
    settings = ClientSettings.of(config, {}, FakeClock())
    assert (settings.member["partition_assignment_strategy"], settings.cooperative) == (
        ["cooperative-own", "own"],
        False,
    )


def test_an_unusable_strategy_is_refused_when_the_consumer_is_created():
    with pytest.raises(AssignmentError, match=r"strategy 'broken' of acme 1.0 cannot be used: .* repair or uninstall"):
        entries("broken")


@pytest.mark.parametrize("entry", ["wrong", own(twice, "mine"), own(twice, "mine").cooperative()])
def test_a_wrong_plan_reaches_no_member(entry):
    (strategy,) = entries(entry)
    participant = Participant([strategy], {}, group="g")
    with pytest.raises(StrategyFailedError, match="partition 0 of topic 't' has 2 owners, more than 1"):
        participant.decide(strategy, TOPICS, MEMBERS)


def test_a_valid_plan_reaches_members():
    (strategy,) = entries(own())
    decision = Participant([strategy], {}, group="g").decide(strategy, TOPICS, MEMBERS)
    assert decision.assignment.members == {"a": {"t": (0,)}, "b": {"t": (1,)}}
    assert decision.quality().skew_ratio == 1
