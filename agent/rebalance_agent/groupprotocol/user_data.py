"""User data that strategies put into subscriptions. It comes from other members, so all of it is checked.

All numbers are big-endian.

- weighted-sticky: int32 weight; then, to the end, per topic: int32 length of its UTF-8 name, the name, int32 count,
  int32 partitions.
- failover: one int32 priority.
- sticky: the schema of Kafka's ``StickyAssignor``, v1 (array of topic and partitions, then int32 generation, KIP-341)
  or v0 (without the generation).
- cooperative-sticky: one int32 generation, as Kafka's ``CooperativeStickyAssignor`` writes it; librdkafka and franz-go
  write sticky's schema.
- rack-aware-sticky: int16 version (0; newer ones append), string labels, array of topic and partitions, int32
  generation.
"""

from __future__ import annotations

import struct
from typing import Any

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.groupprotocol.consumer_protocol import TOPIC_PARTITIONS, from_rows, to_rows
from rebalance_agent.groupprotocol.sticky_fast_decoder import decode_fast
from rebalance_agent.groupprotocol.wire.byte_reader import Reader, WireError, as_text, decode_whole
from rebalance_agent.groupprotocol.wire.message import Message
from rebalance_agent.groupprotocol.wire.primitives import INT32, STRING, Form
from rebalance_agent.groupprotocol.wire.schema import Field
from rebalance_agent.model.subscription import UNKNOWN_GENERATION, MemberUserData

__all__ = [
    "LABELS_SETTING",
    "PRIORITY_SETTING",
    "WEIGHT_SETTING",
    "decode_cooperative_sticky",
    "decode_labelled",
    "decode_priority",
    "decode_sticky",
    "decode_weighted",
    "encode_generation",
    "encode_labelled",
    "encode_priority",
    "encode_sticky",
    "encode_weighted",
]

LABELS_SETTING = "assignment.consumer.labels"
PRIORITY_SETTING = "assignment.consumer.priority"
WEIGHT_SETTING = "assignment.consumer.weight"
"""Names of the settings that members send."""

_INT32 = struct.Struct(">i")
_TOPIC_PARTITIONS = TOPIC_PARTITIONS.codec(Form(version=0, flexible=False))
_LABELLED = Message(
    "rack-aware-sticky user data",
    Field("labels", STRING),
    Field("owned", TOPIC_PARTITIONS),
    Field("generation", INT32),
    versions=range(1),
    append_only=True,
)


def decode_weighted(data: bytes) -> MemberUserData:
    """Decode weighted-sticky's user data: the member's weight and the partitions it owned.

    Raises:
        DecodeError: the bytes are not that, or the weight is not above zero.
    """
    return decode_whole("weighted-sticky user data", data, _read_weighted)


def encode_weighted(user_data: MemberUserData) -> bytes:
    """Encode weighted-sticky's user data, topics in the order of ``owned``.

    Raises:
        InvalidInputError: the weight is not above zero, or a number does not fit 32 bits.
    """
    weight = user_data.settings[WEIGHT_SETTING]
    if weight <= 0:
        raise InvalidInputError("weight", f"must be above zero, not {weight}")
    out = bytearray(_pack("weight", weight))
    for topic, partitions in user_data.owned.items():
        name = _utf8(topic)
        out += _pack("topic", len(name)) + name + _pack("partitions", len(partitions))
        for partition in partitions:
            out += _pack(f"partitions of {topic}", partition)
    return bytes(out)


def decode_priority(data: bytes) -> MemberUserData:
    """Decode failover's user data: the member's priority.

    Raises:
        DecodeError: the bytes are not one int32.
    """
    return MemberUserData({PRIORITY_SETTING: decode_whole("failover user data", data, _read_int32)})


def encode_priority(user_data: MemberUserData) -> bytes:
    """Encode failover's user data; what the member owns is in the subscription itself.

    Raises:
        InvalidInputError: the priority does not fit 32 bits.
    """
    return _pack("priority", user_data.settings[PRIORITY_SETTING])


def decode_sticky(data: bytes) -> MemberUserData:
    """Decode the user data of Kafka's sticky assignor, v1 or v0; v0 ends after the partitions.

    Raises:
        DecodeError: the bytes follow neither version.
    """
    return decode_fast(data) or decode_whole("sticky user data", data, _read_sticky)


def encode_sticky(user_data: MemberUserData) -> bytes:
    """Encode the user data of Kafka's sticky assignor, v1, topics in the order of ``owned``.

    Raises:
        InvalidInputError: a number does not fit 32 bits, or a topic cannot be written.
    """
    out = bytearray()
    _TOPIC_PARTITIONS.write(out, to_rows(user_data.owned))
    return bytes(out) + _pack("generation", user_data.generation)


def decode_cooperative_sticky(data: bytes) -> MemberUserData:
    """Decode a cooperative-sticky member's user data: four bytes are a generation, more are sticky's schema.

    In sticky's schema only v0 without a topic has four bytes, and no cooperative client writes that.

    Raises:
        DecodeError: the bytes follow neither version.
    """
    if len(data) == _INT32.size:
        return MemberUserData(generation=decode_whole("cooperative-sticky user data", data, _read_int32))
    return decode_whole("cooperative-sticky user data", data, _read_sticky)


def encode_generation(user_data: MemberUserData) -> bytes:
    """Encode cooperative-sticky's user data; generation -1 means that the member has not been in a generation yet.

    Raises:
        InvalidInputError: the generation does not fit 32 bits.
    """
    return _pack("generation", user_data.generation)


def decode_labelled(data: bytes) -> MemberUserData:
    """Decode rack-aware-sticky's user data. The labels are not parsed.

    Raises:
        DecodeError: the bytes are not that.
    """
    fields = _LABELLED.decode(data).fields or {}
    return MemberUserData({LABELS_SETTING: fields["labels"]}, from_rows(fields["owned"]), fields["generation"])


def encode_labelled(user_data: MemberUserData) -> bytes:
    """Encode rack-aware-sticky's user data, topics in the order of ``owned``.

    Raises:
        InvalidInputError: a text is too long, or a number does not fit 32 bits.
    """
    labels, owned = user_data.settings[LABELS_SETTING], to_rows(user_data.owned)
    return _LABELLED.encode(0, {"labels": labels, "owned": owned, "generation": user_data.generation})


def _read_weighted(reader: Reader) -> MemberUserData:
    weight = reader.number(_INT32)
    if weight <= 0:
        raise WireError(f"a weight of {weight}", 0)
    rows: list[dict[str, Any]] = []
    while reader.left:
        topic = as_text(reader.sized(_INT32, False) or b"", reader.at)
        count = reader.count(_INT32, _INT32.size, False) or 0
        rows.append({"topic": topic, "partitions": reader.numbers("i", count)})
    return MemberUserData({WEIGHT_SETTING: weight}, from_rows(rows))


def _read_sticky(reader: Reader) -> MemberUserData:
    owned = from_rows(_TOPIC_PARTITIONS.read(reader))
    return MemberUserData(owned=owned, generation=reader.number(_INT32) if reader.left else UNKNOWN_GENERATION)


def _read_int32(reader: Reader) -> int:
    return reader.number(_INT32)


def _pack(field_name: str, number: int) -> bytes:
    try:
        return _INT32.pack(number)
    except struct.error:
        raise InvalidInputError(field_name, f"{number} does not fit 32 bits") from None


def _utf8(topic: str) -> bytes:
    try:
        return topic.encode()
    except UnicodeEncodeError:
        raise InvalidInputError("topic", f"{topic[:40]!r} cannot be written as UTF-8") from None
