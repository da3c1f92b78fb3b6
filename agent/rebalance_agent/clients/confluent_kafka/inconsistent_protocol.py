"""Explains ``INCONSISTENT_GROUP_PROTOCOL``, whose error does not say which strategies the group uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from rebalance_agent.clients.negotiation import GroupDescription, explain_refusal
from rebalance_agent.groupprotocol.classic_group import CONSUMER_PROTOCOL_TYPE

__all__ = ["TIMEOUT_SECONDS", "why_refused"]

TIMEOUT_SECONDS = 10.0
"""How long the coordinator may take to describe the group."""

_CONNECTION = ("bootstrap.", "metadata.broker.list", "security.", "sasl.", "ssl.", "socket.", "broker.", "oauth_cb")
"""Prefixes of the settings that a connection needs; an admin client refuses those of consumers."""


def why_refused(settings: Mapping[str, Any], group: str, offered: Sequence[str]) -> str:
    """Describe ``group``, and explain why a consumer with these ``settings`` cannot join it.

    ``offered``: its strategies. It takes `TIMEOUT_SECONDS` at most.
    """
    connection = {name: value for name, value in settings.items() if name.startswith(_CONNECTION)}
    # Kept until it has answered: without a reference, its request is never answered.
    admin = AdminClient({**connection, "log_level": 0})
    try:
        described = admin.describe_consumer_groups([group], request_timeout=TIMEOUT_SECONDS)[group].result()
    except KafkaException as error:
        return explain_refusal(group, offered, error.args[0].str())
    clients = tuple(member.client_id for member in described.members)
    return explain_refusal(
        group, offered, GroupDescription(CONSUMER_PROTOCOL_TYPE, described.partition_assignor, clients)
    )
