"""Encodes a member for librdkafka's transactional producer (KIP-447), which then commits for this member.

librdkafka has no API for the group metadata of a foreign member, but accepts it in the bytes that it writes itself.
Their format is checked first: if a later librdkafka writes a different one, the call is refused instead of fencing
wrongly.
"""

from __future__ import annotations

import struct

import confluent_kafka

from rebalance_agent.clients.confluent_assignors.kafka_errors import refused

__all__ = ["group_metadata"]

_MAGIC = b"CGMDv2:"


def group_metadata(
    data: confluent_kafka.Consumer, group: str, generation: int, member_id: str, instance_id: str | None
) -> object:
    """Return the group metadata for ``send_offsets_to_transaction`` of a confluent-kafka producer.

    Raises:
        KafkaException: this librdkafka writes another format (``_NOT_IMPLEMENTED``).
    """
    if data.consumer_group_metadata() != _encoded(group, -1, "", None):
        raise refused("consumer_group_metadata() with this version of librdkafka")
    return _encoded(group, generation, member_id, instance_id)


def _encoded(group: str, generation: int, member_id: str, instance_id: str | None) -> bytes:
    # 7 bytes of magic, int32 in native byte order, then zero-terminated texts; a flag before the last one.
    texts = f"{group}\0{member_id}\0".encode()
    instance = b"\1" if instance_id is None else f"\0{instance_id}\0".encode()
    return _MAGIC + struct.pack("=i", generation) + texts + instance
