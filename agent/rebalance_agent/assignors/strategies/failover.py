"""``failover``: active and passive members. Every partition goes to the member with the highest priority.

For each topic, the active member is the subscriber with the highest priority; among members of equal priority, the
member that owns most of the topic, then most of all topics, then the first in member order. So a new member of equal
priority never takes over.
"""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.assignors.balance.promise import Promise
from rebalance_agent.assignors.replay_limits import ReplayLimits
from rebalance_agent.assignors.roster import Plan, Roster
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.assignors.strategy_settings import INT32_MAX, INT32_MIN, whole_number
from rebalance_agent.groupprotocol.user_data import PRIORITY_SETTING, decode_priority, encode_priority
from rebalance_agent.model.group import RebalanceProtocol

__all__ = ["FAILOVER", "PRIORITY", "UNKNOWN_PRIORITY", "failover", "promise_failover"]

UNKNOWN_PRIORITY = whole_number(
    name="assignment.unknown.priority",
    default=INT32_MIN,
    minimum=INT32_MIN,
    maximum=INT32_MAX,
    meaning="priority of members whose user data is missing or cannot be decoded",
    shared=True,
)

PRIORITY = replace(
    whole_number(
        name=PRIORITY_SETTING,
        default=INT32_MAX,
        minimum=INT32_MIN,
        maximum=INT32_MAX,
        meaning="the member with the highest priority gets every partition; the others are idle",
    ),
    unknown=UNKNOWN_PRIORITY,
)


def failover(roster: Roster) -> Plan:
    """Return the plan that gives each topic to its active member."""
    plan = roster.empty_plan()
    for topic, active, count in zip(roster.topics, _actives(roster), roster.partitions, strict=True):
        plan[active][topic] = tuple(range(count))
    return plan


def promise_failover(roster: Roster) -> Promise:
    """Return the promise of all partitions of a topic to its active member, and of none to other members."""
    loads = [0] * len(roster.members)
    for active, count in zip(_actives(roster), roster.partitions, strict=True):
        loads[active] += count
    return Promise.at_most(loads, standing=roster.of(PRIORITY))


def _actives(roster: Roster) -> list[int]:
    priorities = roster.of(PRIORITY)
    overall = roster.owned_counts()
    actives = []
    for subscribers, ownership in zip(roster.subscribers, roster.ownership, strict=True):
        highest = max(priorities[member] for member in subscribers)
        candidates = [member for member in subscribers if priorities[member] == highest]
        owned = ownership.owned
        # max() takes the first of equals, and subscribers are in member order.
        actives.append(max(candidates, key=lambda member: (len(owned.get(member, ())), overall[member])))
    return actives


FAILOVER = Strategy(
    name="failover",
    protocol=RebalanceProtocol.EAGER,
    summary="assigns every partition to the member with the highest priority; a new member with an equal "
    "priority never takes over",
    plan=failover,
    promise=promise_failover,
    config=(PRIORITY, UNKNOWN_PRIORITY),
    reader=decode_priority,
    writer=encode_priority,
    passive_members=True,
    cooperative_form=True,
    replay_limits=ReplayLimits(
        on_request="only one member works while the others wait, which suits only some applications",
    ),
)
