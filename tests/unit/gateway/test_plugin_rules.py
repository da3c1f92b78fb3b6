"""A gateway's rules name strategies of other packages; a plan that fails leaves the clients' own assignment."""

from __future__ import annotations

import asyncio

import pytest

from rebalance_agent.assignors import Strategy, whole_number
from rebalance_agent.assignors.roster import CopiesPlan
from rebalance_agent.assignors.strategies.range import ranges
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.gateway.groups import parse_rules
from rebalance_agent.gateway.groups.gateway_groups import FrameOutcome
from rebalance_agent.model.group import RebalanceProtocol
from support.assignors.plugin_site import Entry, declared
from support.gateway.coordinator import ToyCoordinator
from support.gateway.groups import Client, Gateway, Line

LAST = whole_number("assignment.last.from", 0, 0, 100, "the first partition of the last member", shared=True)


def last(roster):
    """Assigns all partitions from a number on to the last member, and the others to the first."""
    start = roster.shared_by_all(LAST)
    plan = roster.empty_plan()
    for topic, count in zip(roster.topics, roster.partitions, strict=True):
        plan[0][topic] = tuple(range(min(start, count)))
        plan[-1][topic] = tuple(range(start, count))
    return plan


def own(name, plan, **more):
    return Strategy(name, RebalanceProtocol.EAGER, "for tests", plan, **more)


def no_copies(roster, *_):
    return CopiesPlan(roster.empty_plan(), roster.empty_plan())


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    declared(
        monkeypatch,
        Entry("last", own("last", last, config=(LAST,))),
        Entry("lossy", own("lossy", lambda roster: roster.empty_plan())),
        Entry("failing", own("failing", lambda roster: 1 / 0)),
        Entry("silent", own("silent", ranges, writer=lambda _: 1 / 0)),
        Entry(
            "copying",
            own("copying", ranges, copies=no_copies),
        ),
        Entry("broken", ImportError("gone")),
    )


def members(rules):
    broker = ToyCoordinator(2)
    made = []
    for _ in range(2):
        gateway = Gateway(rules)
        made.append(Client(Line(gateway, broker)))
        made[-1].gateway = gateway
    return broker, made


async def rebalance(*clients):
    await asyncio.gather(*(each.join() for each in clients))
    await asyncio.gather(*(each.sync({one.member_id: {"t": (5,)} for one in clients}) for each in clients))


def test_a_plugin_strategy_assigns_with_the_settings_of_its_rule():
    broker, clients = members("orders=last,assignment.last.from=3")
    asyncio.run(rebalance(*clients))
    assert broker.protocol == "last"
    assert sorted(each.owned["t"] for each in clients) == [(0, 1, 2), tuple(range(3, 16))]
    assert FrameOutcome.ASSIGNED in {outcome for each in clients for outcome in each.gateway.outcomes}


@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("lossy", "strategy 'lossy' of acme 1.0: plan violates its contract: partition 0 of topic 't' has no owner"),
        ("failing", "strategy 'failing' of acme 1.0: plan raised ZeroDivisionError: division by zero"),
    ],
)
def test_a_failing_plugin_leaves_the_clients_own_assignment_with_the_reason(name, problem, caplog):
    _, clients = members(f"orders={name}")
    asyncio.run(rebalance(*clients))
    assert [each.owned for each in clients] == [{"t": (5,)}, {"t": (5,)}]
    outcomes = [outcome for each in clients for outcome in each.gateway.outcomes]
    assert outcomes.count(FrameOutcome.ASSIGN_FAILED) == 1
    assert f"{problem}; the client's own assignment is used" in caplog.text


def test_a_plugin_that_cannot_write_its_user_data_is_not_offered():
    broker, clients = members("orders=silent")
    asyncio.run(rebalance(*clients))
    assert broker.protocol == "range"
    assert {outcome for each in clients for outcome in each.gateway.outcomes} == {FrameOutcome.FAILED}


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ("a=broken", "strategy 'broken' of acme 1.0 cannot be used: acme.module:OBJECT: ImportError: gone: repair or"),
        ("a=copying", "copying assigns copies, which clients behind a gateway do not receive"),
        ("a=last,assignment.last.from=x", "assignment.last.from: must be a whole number from 0 to 100, not 'x'"),
        ("a=last,assignment.consumer.weight=1", "is not a setting of last; its settings are: assignment.last.from"),
        ("a=cooperative-last", "strategy 'last' of acme 1.0 has no cooperative form"),
    ],
)
def test_an_unusable_rule_is_refused_with_the_reason(rule, problem):
    with pytest.raises(InvalidInputError, match=problem):
        parse_rules(rule)
