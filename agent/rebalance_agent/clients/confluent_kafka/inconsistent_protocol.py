"""Explains ``INCONSISTENT_GROUP_PROTOCOL``, whose error does not name the group's strategies."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from rebalance_agent.clients.negotiation import GroupDescription, explain_refusal
from rebalance_agent.model.group import LIBRDKAFKA_ASSIGNORS

__all__ = ["TIMEOUT_SECONDS", "why_refused"]

TIMEOUT_SECONDS = 10.0
"""How long (seconds) the coordinator may take to describe the group."""

_NOT_CLASSIC = "Dead"
"""The state of a group whose coordinator assigns, in an answer of the version that only describes classic groups."""

_CONNECTION = ("bootstrap.", "metadata.broker.list", "security.", "sasl.", "ssl.", "socket.", "broker.", "oauth_cb")
"""Prefixes of the settings that a connection needs; an admin client refuses those of consumers."""


def why_refused(settings: Mapping[str, Any], group: str, offered: Sequence[str]) -> str:
    """Describe ``group``, and explain why a consumer with these ``settings`` cannot join it.

    ``offered``: its strategies. It takes `TIMEOUT_SECONDS` at most.
    """
    connection = {name: value for name, value in settings.items() if name.startswith(_CONNECTION)}
    # Keep a reference until it has answered: without one, its request is never answered.
    admin = AdminClient({**connection, "log_level": 0})
    try:
        described = _described(admin, group)
    except KafkaException as error:
        return explain_refusal(group, offered, error.args[0].str())
    if described is None or described.state == _NOT_CLASSIC:
        return explain_refusal(group, offered, "its coordinator assigns (group.protocol=consumer), or it was deleted")
    clients = tuple(member.client_id for member in described.members)
    known = GroupDescription(described.protocol_type, described.protocol, clients)
    return explain_refusal(group, offered, known) + _without(known.protocol)


def _without(strategy: str) -> str:
    """Return how a consumer gets a ``strategy`` that librdkafka does not have."""
    if not strategy or strategy in LIBRDKAFKA_ASSIGNORS:
        return ""
    return (
        f" librdkafka does not have {strategy}: use the consumer of rebalance_agent.clients.confluent_assignors if it "
        "is a strategy of rebalance-agent, or a gateway."
    )


def _described(admin: AdminClient, group: str) -> Any:  # noqa: ANN401 - the client has no annotations for it
    """Describe ``group``, if it exists, without reading what its members sent.

    ``describe_consumer_groups`` reads the members' assignments, and librdkafka 2.16 aborts the process where one of
    them is a single byte. This older request leaves them as bytes.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        found = admin.list_groups(group=group, timeout=TIMEOUT_SECONDS)
    return next(iter(found), None)
