"""User data of strategies with standbys: partitions that a member owns and copies, and those it is assigned.

Two messages in the style of Kafka's: an int16 version, then fields; later versions only append fields. All numbers are
big-endian; a string is an int16 length and UTF-8, an array an int32 count and its items.

- In a subscription: string process id (empty: none), array of (string topic, array of int32 partitions) owned, int32
  generation in which they were owned, and an equal array of the member's standby copies.
- In an assignment: the array of active partitions, then that of standby copies; from version 2 on, an array of the
  copies that partitions wait for.
"""

from __future__ import annotations

from rebalance_agent.errors import DecodeError, InvalidInputError
from rebalance_agent.groupprotocol.consumer_protocol import TOPIC_PARTITIONS, from_rows, to_rows
from rebalance_agent.groupprotocol.wire.message import Message
from rebalance_agent.groupprotocol.wire.primitives import INT32, STRING
from rebalance_agent.groupprotocol.wire.schema import Field
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import AssignedCopies, MemberUserData

__all__ = [
    "PROCESS_ID_MAX",
    "PROCESS_ID_SETTING",
    "STANDBY_ASSIGNMENT",
    "STANDBY_SUBSCRIPTION",
    "decode_standby_assignment",
    "decode_standby_subscription",
    "encode_standby_assignment",
    "encode_standby_subscription",
]

PROCESS_ID_MAX = 255
"""Maximum length of a process id, in characters: enough for a UUID, a host name or a pod's name. The leader gets one
per member."""

PROCESS_ID_SETTING = "assignment.process.id"
"""Name of the setting that members send."""

_SUBSCRIPTION_VERSION = 1
_ASSIGNMENT_VERSION = 2

STANDBY_SUBSCRIPTION = Message(
    "StandbySubscription",
    Field("process_id", STRING),
    Field("owned", TOPIC_PARTITIONS),
    Field("generation", INT32),
    Field("standbys", TOPIC_PARTITIONS),
    versions=range(1, _SUBSCRIPTION_VERSION + 1),
    append_only=True,
)

STANDBY_ASSIGNMENT = Message(
    "StandbyAssignment",
    Field("active", TOPIC_PARTITIONS),
    Field("standbys", TOPIC_PARTITIONS),
    Field("warmups", TOPIC_PARTITIONS, since=2),
    versions=range(1, _ASSIGNMENT_VERSION + 1),
    append_only=True,
)


def decode_standby_subscription(data: bytes) -> MemberUserData:
    """Decode the user data of a subscription: process, owned partitions and standby copies.

    Raises:
        DecodeError: the bytes are not that, or the process id is longer than `PROCESS_ID_MAX`.
    """
    fields = STANDBY_SUBSCRIPTION.decode(data).fields or {}
    process_id = fields["process_id"]
    if len(process_id) > PROCESS_ID_MAX:
        raise DecodeError(f"{STANDBY_SUBSCRIPTION.name}.process_id: longer than {PROCESS_ID_MAX} characters")
    owned, standbys = from_rows(fields["owned"]), from_rows(fields["standbys"])
    return MemberUserData({PROCESS_ID_SETTING: process_id}, owned, fields["generation"], standbys)


def encode_standby_subscription(user_data: MemberUserData) -> bytes:
    """Encode the user data of a subscription.

    Raises:
        InvalidInputError: a value does not fit; names it.
    """
    process_id = user_data.settings.get(PROCESS_ID_SETTING, "")
    if len(process_id) > PROCESS_ID_MAX:
        raise InvalidInputError("process_id", f"longer than {PROCESS_ID_MAX} characters")
    return STANDBY_SUBSCRIPTION.encode(
        _SUBSCRIPTION_VERSION,
        {
            "process_id": process_id,
            "owned": to_rows(user_data.owned),
            "generation": user_data.generation,
            "standbys": to_rows(user_data.standbys),
        },
    )


def decode_standby_assignment(data: bytes) -> tuple[TopicPartitions, AssignedCopies]:
    """Decode the user data of an assignment: the partitions to own, and the partitions to keep a copy of.

    Raises:
        DecodeError: the bytes are not that.
    """
    fields = STANDBY_ASSIGNMENT.decode(data).fields or {}
    active, standbys, warmups = (from_rows(fields.get(name, ())) for name in ("active", "standbys", "warmups"))
    return active, AssignedCopies(standbys, warmups)


def encode_standby_assignment(active: TopicPartitions, copies: AssignedCopies) -> bytes:
    """Encode the user data of an assignment.

    Raises:
        InvalidInputError: a value does not fit; names it.
    """
    return STANDBY_ASSIGNMENT.encode(
        _ASSIGNMENT_VERSION,
        {"active": to_rows(active), "standbys": to_rows(copies.standbys), "warmups": to_rows(copies.warmups)},
    )
