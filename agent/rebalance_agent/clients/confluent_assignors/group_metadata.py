"""A member as librdkafka's transactional producer wants it told (KIP-447), so that it may commit for the member.

librdkafka gives consumers no way to be told whose member they are, but takes a member in the bytes that it writes
itself. Those are checked first: if a later librdkafka writes others, the answer is a refusal and never a wrong fence.
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
    """What ``send_offsets_to_transaction`` of a confluent-kafka producer takes.

    Raises:
        KafkaException: this librdkafka writes it in another way (``_NOT_IMPLEMENTED``).
    """
    if data.consumer_group_metadata() != _written(group, -1, "", None):
        raise refused("consumer_group_metadata() with this version of librdkafka")
    return _written(group, generation, member_id, instance_id)


def _written(group: str, generation: int, member_id: str, instance_id: str | None) -> bytes:
    # 7 bytes of magic, int32 in the machine's order, then texts that end with a zero byte; a flag before the last one.
    texts = f"{group}\0{member_id}\0".encode()
    instance = b"\1" if instance_id is None else f"\0{instance_id}\0".encode()
    return _MAGIC + struct.pack("=i", generation) + texts + instance
