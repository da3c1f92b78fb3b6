"""What a group's coordinator holds, beside what our own assignor gives for the same members."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import NamedTuple

from kafka.protocol.admin.groups import DescribeGroupsRequest

from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.clients.participant import Participant, read_member
from rebalance_agent.groupprotocol.consumer import decode_assignment
from rebalance_agent.model.partitions import from_ranges, pairs
from rebalance_agent.model.subscription import TopicMetadata

from .gateway_groups import RealBroker

__all__ = ["Held", "disagreements", "held", "ranges"]


class Held(NamedTuple):
    """Client id -> topics and partitions: as the coordinator has them, and as our assignor gives them."""

    assignor: str
    assigned: dict[str, frozenset[tuple[str, int]]]
    expected: dict[str, frozenset[tuple[str, int]]]


def held(coordinator, group, topics, config=None):
    """`Held` of a stable group that runs by one of our strategies, else None.

    ``topics``: name -> partitions. ``config``: settings of the whole group; what a member sets is in its subscription.
    """
    described = asyncio.run(_described(coordinator, group))
    name = described.protocol_data
    if described.error_code or described.group_state != "Stable" or name not in STRATEGIES:
        return None
    clients = {each.member_id: each.client_id for each in described.members}
    members = [
        read_member(each.member_id, each.group_instance_id, bytes(each.member_metadata)) for each in described.members
    ]
    ours = Participant((STRATEGIES[name],), config or {}, group=group)
    known = {topic: TopicMetadata(number) for topic, number in topics.items()}
    decision = ours.decide(STRATEGIES[name], known, members)
    given = {each.client_id: decode_assignment(bytes(each.member_assignment)).partitions for each in described.members}
    return Held(
        name,
        {client: frozenset(pairs(each)) for client, each in given.items()},
        {clients[member]: frozenset(pairs(each)) for member, each in decision.assignment.members.items()},
    )


async def _described(address, group):
    broker = await RealBroker.at(address)
    try:
        (found,) = (await broker(DescribeGroupsRequest(version=5, groups=[group]))).groups
    finally:
        await broker.close()
    return found


def disagreements(told):
    """Generation -> what the gateway and what the observer say in the events ``told`` that eager members were given."""
    recorded, assigned = defaultdict(dict), defaultdict(dict)
    for each in told:
        if each["kind"] == "generation":
            # Of a static member that came back there is a second record of the same generation.
            recorded[each["generation"]] |= {one["member_id"]: ranges(one["assigned"]) for one in each["members"]}
        elif each["kind"] == "member" and each["callback"] == "assigned":
            assert each["evidence"] == "gateway"
            assigned[each["generation"]][each["member_id"]] = ranges(each["partitions"])
    return {number: (assigned[number], each) for number, each in recorded.items() if assigned[number] != each}


def ranges(partitions):
    """Partitions as they stand in an event's JSON."""
    return {topic: from_ranges(text) for topic, text in partitions.items()}
