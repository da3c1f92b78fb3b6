"""``uniform``, the brokers' default assignor, for a group whose members all subscribe to the same topics.

Members get equal quotas, and ``partitions % members`` of them get one partition more: in order, members that already
have one more, and at the end as many others as needed. Partitions beyond members' quotas are appended to the partitions
without an owner, and all of these fill the members below their quotas, in order.
"""

from __future__ import annotations

from itertools import islice

from rebalance_agent.assignors.broker.java_order import set_order
from rebalance_agent.assignors.broker.mixed_subscriptions import balance_mixed
from rebalance_agent.assignors.roster import Plan, Roster

__all__ = ["uniform"]


def uniform(roster: Roster) -> Plan:
    """Return the plan of the brokers' ``uniform`` assignor, given their order of members, topics and owned numbers."""
    if not _homogeneous(roster):
        return balance_mixed(roster)
    plan: list[dict[str, list[int]]] = [{} for _ in roster.members]
    quota, extra = divmod(sum(roster.partitions), max(1, len(plan)))
    waiting = [
        (topic, number)
        for topic, gaps in zip(roster.topics, roster.ownership_index.gaps, strict=True)
        for number in gaps
    ]
    rooms = []
    for index, (held, given) in enumerate(zip(roster.ownership_index.holdings, plan, strict=True)):
        may_have_more = extra > 0
        room = quota + may_have_more
        for topic, owned in held.items():
            numbers = set_order(owned) if len(owned) > room else owned
            kept = list(numbers[:room])
            room -= len(kept)
            waiting += [(topic, number) for number in numbers[len(kept) :]]
            if kept:
                given[topic] = kept
        if may_have_more and room and len(plan) - index > extra:
            room -= 1  # enough members follow that may have one more
        elif may_have_more:
            extra -= 1
        rooms.append(room)
    supply = iter(waiting)
    for given, room in zip(plan, rooms, strict=True):
        for topic, number in islice(supply, room):
            given.setdefault(topic, []).append(number)
    return [{topic: tuple(sorted(numbers)) for topic, numbers in given.items()} for given in plan]


def _homogeneous(roster: Roster) -> bool:
    """Return whether all members subscribe to the same names, including topics that do not exist, as brokers do."""
    return len({frozenset(member.topics) for member in roster.members}) <= 1
