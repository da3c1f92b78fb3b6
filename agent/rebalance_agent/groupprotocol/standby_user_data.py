"""User data of strategies with standbys: what a member owns and copies, and what it is assigned to own and copy.

Two messages in the style of Kafka's: an int16 version, then fields; later versions only append fields. All numbers are
big-endian; a string is an int16 length and UTF-8, an array an int32 count and its items.

- In a subscription: string process id (empty: none), array of (string topic, array of int32 partitions) owned, int32
  generation in which they were owned, and an equal array of the member's standby copies.
- In an assignment: the array of active partitions, then that of standby copies.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rebalance_agent.errors import DecodeError, InvalidInputError
from rebalance_agent.groupprotocol.consumer_protocol import TOPIC_PARTITIONS, from_rows, to_rows
from rebalance_agent.groupprotocol.wire.message import Message
from rebalance_agent.groupprotocol.wire.primitives import INT32, STRING
from rebalance_agent.groupprotocol.wire.schema import Field
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import UNKNOWN_GENERATION

__all__ = [
    "PROCESS_ID_MAX",
    "STANDBY_ASSIGNMENT",
    "STANDBY_SUBSCRIPTION",
    "StandbyAssignment",
    "StandbyUserData",
    "decode_standby_assignment",
    "decode_standby_subscription",
    "encode_standby_assignment",
    "encode_standby_subscription",
]

PROCESS_ID_MAX = 255
"""Characters of a process id: enough for a UUID, a host name or a pod's name. The leader gets one per member."""

_VERSION = 1

STANDBY_SUBSCRIPTION = Message(
    "StandbySubscription",
    Field("process_id", STRING),
    Field("owned", TOPIC_PARTITIONS),
    Field("generation", INT32),
    Field("standbys", TOPIC_PARTITIONS),
    versions=range(_VERSION, _VERSION + 1),
    append_only=True,
)

STANDBY_ASSIGNMENT = Message(
    "StandbyAssignment",
    Field("active", TOPIC_PARTITIONS),
    Field("standbys", TOPIC_PARTITIONS),
    versions=range(_VERSION, _VERSION + 1),
    append_only=True,
)


@dataclass(frozen=True, slots=True)
class StandbyUserData:
    """User data of a subscription: process id, partitions owned in ``generation`` (-1: not known), standby copies."""

    process_id: str = ""
    owned: TopicPartitions = field(default_factory=dict)
    generation: int = UNKNOWN_GENERATION
    standbys: TopicPartitions = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StandbyAssignment:
    """User data of an assignment: the partitions that the member is ``active`` for, and those it keeps a copy of."""

    active: TopicPartitions = field(default_factory=dict)
    standbys: TopicPartitions = field(default_factory=dict)


def decode_standby_subscription(data: bytes) -> StandbyUserData:
    """Decode the user data of a subscription.

    Raises:
        DecodeError: the bytes are not that, or the process id is longer than `PROCESS_ID_MAX`.
    """
    fields = STANDBY_SUBSCRIPTION.decode(data).fields or {}
    process_id = fields["process_id"]
    if len(process_id) > PROCESS_ID_MAX:
        raise DecodeError(f"{STANDBY_SUBSCRIPTION.name}.process_id: longer than {PROCESS_ID_MAX} characters")
    return StandbyUserData(process_id, from_rows(fields["owned"]), fields["generation"], from_rows(fields["standbys"]))


def encode_standby_subscription(user_data: StandbyUserData) -> bytes:
    """Encode the user data of a subscription.

    Raises:
        InvalidInputError: a value does not fit; names it.
    """
    if len(user_data.process_id) > PROCESS_ID_MAX:
        raise InvalidInputError("process_id", f"longer than {PROCESS_ID_MAX} characters")
    return STANDBY_SUBSCRIPTION.encode(
        _VERSION,
        {
            "process_id": user_data.process_id,
            "owned": to_rows(user_data.owned),
            "generation": user_data.generation,
            "standbys": to_rows(user_data.standbys),
        },
    )


def decode_standby_assignment(data: bytes) -> StandbyAssignment:
    """Decode the user data of an assignment.

    Raises:
        DecodeError: the bytes are not that.
    """
    fields = STANDBY_ASSIGNMENT.decode(data).fields or {}
    return StandbyAssignment(from_rows(fields["active"]), from_rows(fields["standbys"]))


def encode_standby_assignment(assignment: StandbyAssignment) -> bytes:
    """Encode the user data of an assignment.

    Raises:
        InvalidInputError: a value does not fit; names it.
    """
    return STANDBY_ASSIGNMENT.encode(
        _VERSION, {"active": to_rows(assignment.active), "standbys": to_rows(assignment.standbys)}
    )
