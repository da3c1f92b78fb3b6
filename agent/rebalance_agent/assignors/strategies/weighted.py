"""``weighted-sticky``: assigns partitions in proportion to members' weights, with the fewest moves.

Weights 900, 90 and 10 on 100 partitions give 90, 9 and 1; rounding uses the largest remainder, and among equal
remainders prefers current owners. With mixed subscriptions, `fair_densities` computes the shares.

With the setting for shares by topic, every topic is divided in these proportions, and all topics together as far as
possible. `assign_units` then gets topics as kinds and weights as sizes.
"""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.assignors.balance.dealing import deal_balanced
from rebalance_agent.assignors.balance.promise import Promise, by_weight
from rebalance_agent.assignors.replay_limits import ReplayLimits
from rebalance_agent.assignors.roster import Plan, Roster
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.assignors.strategy_settings import INT32_MAX, Setting, whole_number
from rebalance_agent.assignors.units.unit_assignment import Unit, assign_units
from rebalance_agent.groupprotocol.user_data import WEIGHT_SETTING, decode_weighted, encode_weighted
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.partitions import topic_partitions

__all__ = ["SCOPE", "WEIGHT", "WEIGHTED_STICKY", "promise_weighted", "weighted"]

WEIGHT = whole_number(
    name=WEIGHT_SETTING,
    default=1,
    minimum=1,
    maximum=INT32_MAX,
    meaning="this member's share of the partitions, relative to the other members' weights",
)


ALL, TOPIC = "all", "topic"


def _scope(text: str) -> str:
    if text not in {ALL, TOPIC}:
        raise ValueError
    return text


SCOPE = Setting(
    name="assignment.weight.scope",
    default=ALL,
    meaning="all: weights divide all partitions together; topic: weights divide the partitions of each topic (rounded "
    "up or down), and all partitions together as far as this allows",
    values=f"{ALL} or {TOPIC}",
    read=_scope,
    shared=True,
)


def weighted(roster: Roster) -> Plan:
    """Return the plan that gives each member the share of its weight, with the fewest moves."""
    if roster.shared_by_all(SCOPE) == TOPIC:
        return _by_topic(roster)
    return deal_balanced(roster, promise_weighted(roster))


def promise_weighted(roster: Roster) -> Promise:
    """Return each member's share by weight; with shares by topic, the sum of its shares, each rounded up."""
    weights = roster.of(WEIGHT)
    if roster.shared_by_all(SCOPE) == ALL:
        return by_weight(roster, weights)
    limits = [0] * len(weights)
    for count, sizes in zip(roster.partitions, _sizes(roster), strict=True):
        whole = sum(sizes.values())
        for member, weight in sizes.items():
            limits[member] += -(-count * weight // whole)
    return Promise.at_most(limits, standing=weights)


def _by_topic(roster: Roster) -> Plan:
    partitions = []
    units = []
    for topic, (name, count, ownership) in enumerate(
        zip(roster.topics, roster.partitions, roster.ownership, strict=True)
    ):
        owner = {number: member for member, numbers in ownership.owned.items() for number in numbers}
        for number in range(count):
            partitions.append((name, number))
            units.append(Unit(topic, (owner[number],) if number in owner else (), ()))
    given: list[list[tuple[str, int]]] = [[] for _ in roster.members]
    for partition, member in zip(partitions, assign_units(_sizes(roster), roster.of(WEIGHT), units), strict=True):
        given[member].append(partition)
    return list(map(topic_partitions, given))


def _sizes(roster: Roster) -> list[Mapping[int, int]]:
    """Return the weights of each topic's subscribers."""
    weights = roster.of(WEIGHT)
    return [{member: weights[member] for member in subscribers} for subscribers in roster.subscribers]


WEIGHTED_STICKY = Strategy(
    name="weighted-sticky",
    protocol=RebalanceProtocol.EAGER,
    summary="assigns partitions in proportion to members' weights, with as few moves as possible",
    plan=weighted,
    promise=promise_weighted,
    config=(WEIGHT, SCOPE),
    reader=decode_weighted,
    writer=encode_weighted,
    cooperative_form=True,
    replay_limits=ReplayLimits(
        on_request="no weights are recorded, and with equal weights it assigns like sticky",
    ),
)
