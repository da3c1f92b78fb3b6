"""User data of strategies with standbys: what a member has, and what it is to own and to copy.

Two messages in the manner of Kafka's own: an int16 version, then fields that later versions only add to. All numbers
are big-endian; a string is an int16 length and UTF-8, an array an int32 count and its items.

- In a subscription: string process id (empty: none), array of (string topic, array of int32 partitions) owned, int32
  generation in which they were owned, and the same kind of array of the standby copies that the member has.
- In an assignment: the array of the active partitions, then that of the standby copies.
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
"""Characters of a process id: room for a UUID, a host name or a pod's name. Every member's travels to the leader."""

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
    """What a member says: its process, what it owned in ``generation`` (-1: unknown), what it has a copy of."""

    process_id: str = ""
    owned: TopicPartitions = field(default_factory=dict)
    generation: int = UNKNOWN_GENERATION
    standbys: TopicPartitions = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StandbyAssignment:
    """What a member is told: the partitions it is ``active`` for, and those it keeps a copy of."""

    active: TopicPartitions = field(default_factory=dict)
    standbys: TopicPartitions = field(default_factory=dict)


def decode_standby_subscription(data: bytes) -> StandbyUserData:
    """Read what a member says in its subscription.

    Raises:
        DecodeError: the bytes are not that, or the process id is longer than `PROCESS_ID_MAX`.
    """
    fields = STANDBY_SUBSCRIPTION.decode(data).fields or {}
    process_id = fields["process_id"]
    if len(process_id) > PROCESS_ID_MAX:
        raise DecodeError(f"{STANDBY_SUBSCRIPTION.name}.process_id: longer than {PROCESS_ID_MAX} characters")
    return StandbyUserData(process_id, from_rows(fields["owned"]), fields["generation"], from_rows(fields["standbys"]))


def encode_standby_subscription(user_data: StandbyUserData) -> bytes:
    """Write what a member says in its subscription.

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
    """Read what a member is told in its assignment.

    Raises:
        DecodeError: the bytes are not that.
    """
    fields = STANDBY_ASSIGNMENT.decode(data).fields or {}
    return StandbyAssignment(from_rows(fields["active"]), from_rows(fields["standbys"]))


def encode_standby_assignment(assignment: StandbyAssignment) -> bytes:
    """Write what a member is told in its assignment.

    Raises:
        InvalidInputError: a value does not fit; names it.
    """
    return STANDBY_ASSIGNMENT.encode(
        _VERSION, {"active": to_rows(assignment.active), "standbys": to_rows(assignment.standbys)}
    )
