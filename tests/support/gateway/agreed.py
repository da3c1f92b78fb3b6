"""Compares a group coordinator's assignment with our own assignor's result for the same members."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from typing import NamedTuple

from kafka.protocol.admin.groups import DescribeGroupsRequest
from kafka.protocol.metadata import MetadataRequest

from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.clients.participant import Participant, read_member
from rebalance_agent.gateway.groups.leading.leader_decision import METADATA_VERSION, topics_of
from rebalance_agent.groupprotocol.consumer_protocol import decode_assignment
from rebalance_agent.model.partitions import from_ranges, pairs
from support.gateway.groups import RealBroker

__all__ = ["Held", "disagreements", "held", "moves_that_differ", "pairs_in", "ranges"]


class Held(NamedTuple):
    """Client id -> (topic, partition) pairs: ``assigned`` by the coordinator, ``expected`` from our assignor."""

    assignor: str
    assigned: dict[str, frozenset[tuple[str, int]]]
    expected: dict[str, frozenset[tuple[str, int]]]


def held(coordinator, group, topics, config=None):
    """`Held` of a stable group that uses one of our strategies; otherwise None.

    ``topics``: their names. ``config``: settings of the whole group; members' own settings are in their subscriptions.
    """
    described, metadata = asyncio.run(_asked(coordinator, group, topics))
    name = described.protocol_data
    if described.error_code or described.group_state != "Stable" or name not in STRATEGIES:
        return None
    clients = {each.member_id: each.client_id for each in described.members}
    members = [
        read_member(each.member_id, each.group_instance_id, bytes(each.member_metadata)) for each in described.members
    ]
    ours = Participant((STRATEGIES[name],), config or {}, group=group)
    decision = ours.decide(STRATEGIES[name], topics_of(metadata, topics, racks=True), members)
    given = {each.client_id: decode_assignment(bytes(each.member_assignment)).partitions for each in described.members}
    return Held(
        name,
        {client: frozenset(pairs(each)) for client, each in given.items()},
        {clients[member]: frozenset(pairs(each)) for member, each in decision.assignment.members.items()},
    )


async def _asked(address, group, topics):
    kind = MetadataRequest.MetadataRequestTopic
    wanted = [kind(version=METADATA_VERSION, name=name) for name in topics]
    broker = await RealBroker.at(address)
    try:
        (found,) = (await broker(DescribeGroupsRequest(version=5, groups=[group]))).groups
        return found, await broker(MetadataRequest(version=METADATA_VERSION, topics=wanted))
    finally:
        await broker.close()


def disagreements(reported):
    """Generation -> the gateway's and the observer's assignments of eager members, if they differ in ``reported``."""
    recorded, assigned = _recorded(reported), _by_frames(reported, "assigned")
    numbers = recorded.keys() | assigned.keys()
    return {each: (assigned[each], recorded[each]) for each in numbers if assigned[each] != recorded[each]}


def moves_that_differ(reported):
    """Generation -> differences in the added and revoked partitions of cooperative members."""
    recorded, gained, given_up = _recorded(reported), _by_frames(reported, "assigned"), _by_frames(reported, "revoked")
    differ, before = {}, {}
    for number in sorted(recorded.keys() | gained.keys() | given_up.keys()):
        now, had = recorded[number], {member: before.get(member, set()) for member in recorded[number]}
        seen = [{member: each[number].get(member, set()) for member in now} for each in (gained, given_up)]
        true = [{member: now[member] - had[member] for member in now}, {each: had[each] - now[each] for each in now}]
        if seen != true or not now:
            differ[number] = seen, true
        before = now
    return differ


def _recorded(reported):
    """Generation -> member -> partitions, by the coordinator's records."""
    recorded = defaultdict(dict)
    for each in reported:
        if each["kind"] == "generation":
            # A returning static member causes a second record of the same generation.
            recorded[each["generation"]] |= {one["member_id"]: pairs_in(one["assigned"]) for one in each["members"]}
    return recorded


def _by_frames(reported, callback):
    """Generation -> member -> partitions, from the gateway's events about this callback."""
    seen = defaultdict(dict)
    for each in reported:
        if each["kind"] == "member" and each["callback"] == callback:
            assert each["evidence"] == "gateway"
            of = seen[each["generation"]]
            of[each["member_id"]] = of.get(each["member_id"], set()) | pairs_in(each["partitions"])
    return seen


def pairs_in(partitions):
    return set(pairs(ranges(partitions)))


def ranges(partitions):
    """Topic -> partition numbers, from the JSON format of events."""
    return {topic: from_ranges(text) for topic, text in partitions.items()}
