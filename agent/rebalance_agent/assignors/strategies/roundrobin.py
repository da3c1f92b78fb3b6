"""``roundrobin``, Kafka's own, and ``shuffled-roundrobin``, which orders members pseudo-randomly for each group.

Source: Kafka's RoundRobinAssignor. Dealing a topic to its subscribers in turn is done by slices, not per partition.
"""

from __future__ import annotations

import hashlib
from bisect import bisect_left
from collections.abc import Sequence

from rebalance_agent.assignors.balance.slices import deal_all, deal_topic, single_numbers
from rebalance_agent.assignors.roster import Plan, Roster
from rebalance_agent.assignors.strategy import Strategy
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.model.member_changes import identity
from rebalance_agent.model.subscription import MemberSubscription

__all__ = ["ROUNDROBIN", "SHUFFLED_ROUNDROBIN", "roundrobin", "shuffled_roundrobin"]

DIGEST_BYTES = 16
"""Bytes of a sort key: enough that two members never get equal ones."""


def roundrobin(roster: Roster) -> Plan:
    """Deal all topic-partitions in order to members in order, skipping members that do not subscribe."""
    return _deal(roster, range(len(roster.members)))


def shuffled_roundrobin(roster: Roster) -> Plan:
    """Deal as `roundrobin`, with the members in a pseudo-random order that depends only on member names and topics.

    With many one-partition topics, the members whose names sort first then do not get more than others.
    """
    seed = hashlib.blake2b(digest_size=DIGEST_BYTES)
    # A static member keeps its position over restarts, which change its member id.
    for text in (*map(identity, roster.members), "", *roster.topics):
        data = text.encode("utf-8", "surrogatepass")
        seed.update(len(data).to_bytes(4, "big") + data)
    key = seed.digest()
    sort_keys = [_sort_key(key, member) for member in roster.members]
    return _deal(roster, sorted(range(len(sort_keys)), key=sort_keys.__getitem__))


def _sort_key(key: bytes, member: MemberSubscription) -> bytes:
    kind = b"s" if member.instance_id is not None else b"d"
    return hashlib.blake2b(
        kind + identity(member).encode("utf-8", "surrogatepass"), digest_size=DIGEST_BYTES, key=key
    ).digest()


def _deal(roster: Roster, order: Sequence[int]) -> Plan:
    if roster.uniform():
        entitled = frozenset(roster.subscribers[0] if roster.subscribers else ())
        return deal_all(roster, [member for member in order if member in entitled])
    plan = roster.empty_plan()
    position_of = [0] * len(order)
    for position, member in enumerate(order):
        position_of[member] = position
    circles: dict[int, tuple[list[int], list[int]]] = {}
    singles = single_numbers(roster.partitions)
    turn = 0
    for topic, count, subscribers in zip(roster.topics, roster.partitions, roster.subscribers, strict=True):
        # Equal subscribers are one tuple (see Roster), so that identity compares them.
        if id(subscribers) not in circles:
            positions = sorted(map(position_of.__getitem__, subscribers))
            circles[id(subscribers)] = positions, [order[position] for position in positions] * 2
        positions, circle = circles[id(subscribers)]
        first = bisect_left(positions, turn) % len(positions)
        deal_topic(plan, topic, count, circle[first : first + min(count, len(positions))], singles)
        turn = positions[(first + count - 1) % len(positions)] + 1
    return plan


ROUNDROBIN = Strategy(
    name="roundrobin",
    protocol=RebalanceProtocol.EAGER,
    summary="all topic-partitions dealt in turn to members in order",
    plan=roundrobin,
    spread_rank=2,
)

SHUFFLED_ROUNDROBIN = Strategy(
    name="shuffled-roundrobin",
    protocol=RebalanceProtocol.EAGER,
    summary="as roundrobin, over members in a pseudo-random order of the group's own",
    plan=shuffled_roundrobin,
    spread_rank=1,
)
