"""``roundrobin``, Kafka's own strategy: deals all topic-partitions in turn to the members in order.

Source: Kafka's RoundRobinAssignor. This module deals a topic to its subscribers with slices instead of one step per
partition.
"""

from __future__ import annotations

from bisect import bisect_left

from rebalance_agent.assignors.balance.slices import deal_all, deal_topic, single_numbers
from rebalance_agent.assignors.roster import Plan, Roster
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.model.group import RebalanceProtocol

__all__ = ["ROUNDROBIN", "roundrobin"]


def roundrobin(roster: Roster) -> Plan:
    """Deal all topic-partitions in order to members in order, skipping members that do not subscribe."""
    if roster.uniform():
        return deal_all(roster, roster.subscribers[0] if roster.subscribers else ())
    plan = roster.empty_plan()
    circles: dict[int, tuple[int, ...]] = {}
    singles = single_numbers(roster.partitions)
    turn = 0
    for topic, count, subscribers in zip(roster.topics, roster.partitions, roster.subscribers, strict=True):
        # Equal subscribers are one tuple (see Roster), so that identity compares them.
        if id(subscribers) not in circles:
            circles[id(subscribers)] = subscribers * 2
        circle, turns = circles[id(subscribers)], len(subscribers)
        first = bisect_left(subscribers, turn) % turns
        deal_topic(plan, topic, count, circle[first : first + min(count, turns)], singles)
        turn = subscribers[(first + count - 1) % turns] + 1
    return plan


ROUNDROBIN = Strategy(
    name="roundrobin",
    protocol=RebalanceProtocol.EAGER,
    summary="assigns all topic-partitions in turn to the members in order",
    plan=roundrobin,
    spread_rank=2,
)
