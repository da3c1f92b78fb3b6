"""What members have, learnt again: a gateway that was restarted knows nothing of who was given what.

The coordinator knows it as long as the group is stable, so it is asked at a member's first heartbeat: when the group
rebalances, it is too late.
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
"""How long one heartbeat may wait for that. It takes a millisecond or two."""

DESCRIBE_VERSION = 4
"""The first version that tells static members' instance ids; every broker since 2.4 has it."""


async def recover(ask: Ask, group: str, member_id: str) -> tuple[TopicPartitions | None, bool]:
    """What the member of a stable group was given, None where the coordinator does not say; whether it is no consumer.

    Raises:
        ConnectionError: the connection is gone.
        DecodeError: the answer cannot be read.
    """
    response = await ask(DescribeGroupsRequest(version=DESCRIBE_VERSION, groups=[group]))
    foreign = any(each.group_id == group and each.protocol_type not in ("", CONSUMER) for each in response.groups or ())
    return described_assignment(response, group, member_id), foreign


def described_assignment(response: Any, group: str, member_id: str) -> TopicPartitions | None:  # noqa: ANN401
    """The same from a DescribeGroups answer. In a group that rebalances, members have no bytes at all."""
    for described in response.groups or ():
        if described.group_id == group and not described.error_code and described.protocol_type == CONSUMER:
            for member in described.members or ():
                if member.member_id == member_id and member.member_assignment:
                    given = read_assignment(bytes(member.member_assignment))
                    return None if given is None else given.partitions
    return None
