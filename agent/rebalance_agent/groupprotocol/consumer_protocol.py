"""The consumer protocol: the subscription of a member, and the assignment that it gets from the group's leader.

Source: ``ConsumerProtocol`` of Kafka's clients; KIP-429 (v1, owned partitions), KIP-792 (v2, generation), KIP-881 (v3,
rack). Versions only append fields: newer ones are read as v3, and a "v1" from other clients that ends after the fields
of v0 is read without owned partitions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from rebalance_agent.groupprotocol.wire.message import Message
from rebalance_agent.groupprotocol.wire.primitives import BYTES, INT32, STRING, Array
from rebalance_agent.groupprotocol.wire.schema import Field, Struct
from rebalance_agent.model.partitions import TopicPartitions, existing_partitions
from rebalance_agent.model.subscription import UNKNOWN_GENERATION, ConsumerAssignment, ConsumerSubscription

__all__ = [
    "ASSIGNMENT",
    "NEWEST_VERSION",
    "SUBSCRIPTION",
    "TOPIC_PARTITIONS",
    "decode_assignment",
    "decode_subscription",
    "encode_assignment",
    "encode_subscription",
    "from_rows",
    "to_rows",
]

NEWEST_VERSION = 3
"""Newest version of subscriptions and assignments that these schemas support."""

TOPIC_PARTITIONS = Array(Struct(Field("topic", STRING), Field("partitions", Array(INT32))))
"""Array of partitions by topic name, as in the classic protocol."""

SUBSCRIPTION = Message(
    "ConsumerProtocolSubscription",
    Field("topics", Array(STRING)),
    Field("user_data", BYTES, nullable_since=0),
    Field("owned_partitions", TOPIC_PARTITIONS, since=1, may_end_before=True, default=()),
    Field("generation_id", INT32, since=2, may_end_before=True, default=UNKNOWN_GENERATION),
    Field("rack_id", STRING, since=3, nullable_since=3, may_end_before=True, default=None),
    versions=range(NEWEST_VERSION + 1),
    append_only=True,
)

ASSIGNMENT = Message(
    "ConsumerProtocolAssignment",
    Field("assigned_partitions", TOPIC_PARTITIONS),
    Field("user_data", BYTES, nullable_since=0),
    versions=range(NEWEST_VERSION + 1),
    append_only=True,
)


def decode_subscription(data: bytes) -> ConsumerSubscription:
    """Decode a member's ``ConsumerProtocolSubscription``.

    Raises:
        DecodeError: the bytes do not follow the schema.
    """
    decoded = SUBSCRIPTION.decode(data)
    fields = decoded.fields or {}
    return ConsumerSubscription(
        version=decoded.version,
        topics=tuple(fields["topics"]),
        user_data=fields["user_data"],
        owned_partitions=from_rows(fields.get("owned_partitions", ())),
        generation_id=fields.get("generation_id", UNKNOWN_GENERATION),
        rack_id=fields.get("rack_id"),
    )


def encode_subscription(subscription: ConsumerSubscription) -> bytes:
    """Encode ``subscription`` in its own version; fields that this version does not have are left out.

    Raises:
        InvalidInputError: a value does not fit the protocol; names it.
    """
    return SUBSCRIPTION.encode(
        subscription.version,
        {
            "topics": subscription.topics,
            "user_data": subscription.user_data,
            "owned_partitions": to_rows(subscription.owned_partitions),
            "generation_id": subscription.generation_id,
            "rack_id": subscription.rack_id,
        },
    )


def decode_assignment(data: bytes) -> ConsumerAssignment:
    """Decode a member's ``ConsumerProtocolAssignment``.

    Raises:
        DecodeError: the bytes do not follow the schema.
    """
    decoded = ASSIGNMENT.decode(data)
    fields = decoded.fields or {}
    return ConsumerAssignment(decoded.version, from_rows(fields["assigned_partitions"]), fields["user_data"])


def encode_assignment(assignment: ConsumerAssignment) -> bytes:
    """Encode ``assignment`` in its own version.

    Raises:
        InvalidInputError: a value does not fit the protocol; names it.
    """
    return ASSIGNMENT.encode(
        assignment.version,
        {"assigned_partitions": to_rows(assignment.partitions), "user_data": assignment.user_data},
    )


def from_rows(rows: Iterable[Mapping[str, Any]]) -> dict[str, tuple[int, ...]]:
    """Return the rows of a `TOPIC_PARTITIONS` field as ``TopicPartitions``; rows of one topic are merged.

    Numbers that no partition can have are left out (see `existing_partitions`), since members write them.
    """
    by_topic: dict[str, list[Collection[int]]] = {}
    for row in rows:
        if row["partitions"]:
            by_topic.setdefault(row["topic"], []).append(row["partitions"])
    return existing_partitions({topic: sorted(set().union(*by_topic[topic])) for topic in sorted(by_topic)})


def to_rows(partitions: TopicPartitions) -> list[dict[str, Any]]:
    """Return ``TopicPartitions`` as rows of a `TOPIC_PARTITIONS` field."""
    return [{"topic": topic, "partitions": numbers} for topic, numbers in partitions.items()]
