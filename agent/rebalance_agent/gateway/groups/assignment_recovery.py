"""Recovers the partitions of a member after a restart of the gateway, from a DescribeGroups response.

The coordinator returns assignments only while the group is stable. The gateway therefore asks at the member's first
heartbeat: once the group rebalances, it is too late.
"""

from __future__ import annotations

from typing import Any

from kafka.protocol.admin.groups import DescribeGroupsRequest

from rebalance_agent.clients.participant import read_assignment
from rebalance_agent.gateway.groups.offered_protocols import CONSUMER
from rebalance_agent.gateway.transport.kafka_messages import Ask
from rebalance_agent.model.partitions import TopicPartitions

__all__ = ["DESCRIBE_SECONDS", "described_assignment", "recover"]

DESCRIBE_SECONDS = 2.0
"""Longest time (seconds) for which a heartbeat waits for the response. The response takes a millisecond or two."""

DESCRIBE_VERSION = 4
"""The first DescribeGroups version with static members' instance ids; every broker since 2.4 has it."""


async def recover(ask: Ask, group: str, member_id: str) -> tuple[TopicPartitions | None, bool]:
    """Return the partitions of a member of a stable group (None if unknown), and whether the group has no consumers.

    Raises:
        ConnectionError: the connection was closed.
        DecodeError: the response cannot be read.
    """
    response = await ask(DescribeGroupsRequest(version=DESCRIBE_VERSION, groups=[group]))
    foreign = any(
        described.group_id == group and described.protocol_type not in ("", CONSUMER)
        for described in response.groups or ()
    )
    return described_assignment(response, group, member_id), foreign


def described_assignment(response: Any, group: str, member_id: str) -> TopicPartitions | None:  # noqa: ANN401
    """Return a member's partitions from a DescribeGroups response; None while the group rebalances."""
    for described in response.groups or ():
        if described.group_id == group and not described.error_code and described.protocol_type == CONSUMER:
            for member in described.members or ():
                if member.member_id == member_id and member.member_assignment:
                    given = read_assignment(bytes(member.member_assignment))
                    return None if given is None else given.partitions
    return None
