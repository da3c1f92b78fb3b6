"""Explains ``InconsistentGroupProtocol``, for which aiokafka's error has no text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from aiokafka.client import CoordinationType
from aiokafka.errors import KafkaError, NoError, for_code
from aiokafka.protocol.admin import DescribeGroupsRequest

from rebalance_agent.clients.negotiation import GroupDescription, explain_refusal

__all__ = ["why_refused"]


async def why_refused(client: Any, group: str, offered: Sequence[str]) -> str:  # noqa: ANN401 - aiokafka is untyped
    """Describe ``group``, and explain why a member that offers these strategies cannot join it.

    ``client``: an ``aiokafka.client.AIOKafkaClient`` that is connected.
    """
    try:
        coordinator = await client.coordinator_lookup(CoordinationType.GROUP, group)
        answer = await client.send(coordinator, DescribeGroupsRequest([group]))
        # Later versions only append fields.
        code, _, _, protocol_type, protocol, members, *_ = answer.groups[0]
        if (error := for_code(code)) is not NoError:
            raise error
    except KafkaError as error:
        return explain_refusal(group, offered, str(error) or type(error).__name__)
    clients = tuple(client_id for _, client_id, *_ in members)
    return explain_refusal(group, offered, GroupDescription(protocol_type, protocol, clients))
