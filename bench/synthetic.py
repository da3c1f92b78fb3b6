"""Offsets topics made for measuring: records as a coordinator writes them, from groups that never lived.

A broker lets ``client.id=__admin_client`` produce into ``__consumer_offsets``; every other client is refused.
"""

from __future__ import annotations

import random
import struct
from collections.abc import Iterator

from confluent_kafka import Producer

from rebalance_agent.groupprotocol.consumer import encode_assignment, encode_subscription
from rebalance_agent.groupprotocol.placement import offsets_partition
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription

TOPIC = "__consumer_offsets"
MEMBERS = 5
PARTITIONS = 20


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack(">h", len(data)) + data


def _bytes(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def commit(group: str, topic: str, partition: int, offset: int, now_ms: int) -> tuple[bytes, bytes]:
    """An OffsetCommit, key version 1 and value version 3."""
    key = struct.pack(">h", 1) + _text(group) + _text(topic) + struct.pack(">i", partition)
    return key, struct.pack(">hqi", 3, offset, -1) + _text("") + struct.pack(">q", now_ms)


def generation(group: str, number: int, now_ms: int, members: int = MEMBERS) -> tuple[bytes, bytes]:
    """A GroupMetadata record, key version 2 and value version 3, of a Stable group."""
    body = b""
    for index in range(members):
        owned = {"orders": tuple(range(index, PARTITIONS, members))}
        subscription = ConsumerSubscription(3, ("orders",), None, owned, number - 1, None)
        body += _text(f"{group}-member-{index}") + struct.pack(">h", -1) + _text(f"client-{index}")
        body += _text("/10.0.0.1") + struct.pack(">ii", 300_000, 45_000)
        body += _bytes(encode_subscription(subscription)) + _bytes(encode_assignment(ConsumerAssignment(3, owned)))
    head = struct.pack(">h", 3) + _text("consumer") + struct.pack(">i", number) + _text("range")
    head += _text(f"{group}-member-0") + struct.pack(">qi", now_ms, members)
    return struct.pack(">h", 2) + _text(group), head + body


def records(total: int, groups: int, now_ms: int, seed: int = 1) -> Iterator[tuple[bytes, bytes]]:
    """``total`` records, one in fifty a generation, the rest commits, over ``groups`` groups."""
    rng = random.Random(seed)
    numbers = [0] * groups
    for index in range(total):
        group = rng.randrange(groups)
        name = f"group-{group:05}"
        if index % 50 == 0:
            numbers[group] += 1
            yield generation(name, numbers[group], now_ms + index)
        else:
            yield commit(name, "orders", rng.randrange(PARTITIONS), index, now_ms + index)


def partition_of(group_key: bytes, partitions: int) -> int:
    """The offsets partition of a group, from a record's key."""
    length = struct.unpack_from(">h", group_key, 2)[0]
    return offsets_partition(group_key[4 : 4 + length].decode(), partitions)


def fill(bootstrap: str, total: int, groups: int, now_ms: int, partitions: int) -> None:
    """Produce `records` into the broker's offsets topic."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": "__admin_client",
            "linger.ms": 50,
            "queue.buffering.max.messages": 200_000,
        }
    )
    for key, value in records(total, groups, now_ms):
        while True:
            try:
                producer.produce(TOPIC, key=key, value=value, partition=partition_of(key, partitions))
                break
            except BufferError:
                producer.poll(0.1)
        producer.poll(0)
    producer.flush()
