"""Reads a confluent-kafka consumer's group, generation, ids and library from public methods that do not block."""

from __future__ import annotations

import struct
from typing import NamedTuple

import confluent_kafka

from rebalance_agent.instrumentation import Membership
from rebalance_agent.model.reported.member_software import ClientSoftware
from rebalance_agent.model.subscription import UNKNOWN_GENERATION

__all__ = ["SOFTWARE", "generation_in", "group_and_instance", "membership_of"]

SOFTWARE = ClientSoftware(
    "confluent-kafka-python", f"{confluent_kafka.__version__}-rdkafka-{confluent_kafka.libversion()[0]}"
)
"""Name and version as confluent-kafka sends them to brokers."""

_MAGIC = b"CGMDv2:"
_GENERATION = struct.Struct("=i")


def membership_of(consumer: confluent_kafka.Consumer, instance_id: str | None) -> Membership:
    """Return the membership of ``consumer`` now, with its ``group.instance.id``; an empty one if it is closed.

    The cluster id stays unknown. This runs in rebalance callbacks, where confluent-kafka 2.16 aborts the process if a
    method that may block, such as ``cluster_id()``, runs before the next callback of the same poll.
    """
    try:
        member_id, metadata = consumer.memberid(), consumer.consumer_group_metadata()
    except RuntimeError:
        return Membership()
    if not member_id:
        return Membership()
    generation = generation_in(metadata, member_id)
    return Membership(generation, member_id, instance_id, tells_generation=generation != UNKNOWN_GENERATION)


def generation_in(metadata: object, member_id: str) -> int:
    """Return the generation in the result of ``consumer_group_metadata()``; -1 if unreadable or not of ``member_id``.

    confluent-kafka calls the result opaque. Since librdkafka 1.6 it is bytes: a magic, the generation as a native
    int32, the group's name and a zero byte, the member id and a zero byte. Other formats are not decoded.
    """
    fields = _fields(metadata)
    return UNKNOWN_GENERATION if fields is None or fields.member_id != member_id.encode() else fields.generation


def group_and_instance(metadata: object) -> tuple[str, str | None] | None:
    """Group and ``group.instance.id`` in the result of ``consumer_group_metadata()``; None if it is not decodable.

    After the member id it has one byte: 1, or 0 before an instance id and a zero byte.
    """
    if (fields := _fields(metadata)) is None:
        return None
    instance_id = fields.instance[1:-1].decode("utf-8", "replace") if fields.instance.startswith(b"\0") else None
    return fields.group.decode("utf-8", "replace"), instance_id


class _Fields(NamedTuple):
    """``instance``: the bytes after the member id."""

    generation: int
    group: bytes
    member_id: bytes
    instance: bytes


def _fields(metadata: object) -> _Fields | None:
    """Return the fields of the metadata; None if these are not decodable."""
    begin = len(_MAGIC)
    if not isinstance(metadata, bytes) or not metadata.startswith(_MAGIC) or len(metadata) < begin + _GENERATION.size:
        return None
    group, _zero, rest = metadata[begin + _GENERATION.size :].partition(b"\0")
    member_id, _zero, instance = rest.partition(b"\0")
    return _Fields(_GENERATION.unpack_from(metadata, begin)[0], group, member_id, instance)
