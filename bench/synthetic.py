"""Makes synthetic offsets topics for measurements, with records in the format of a coordinator.

A broker accepts records for ``__consumer_offsets`` only from clients with ``client.id=__admin_client``.
"""

from __future__ import annotations

import contextlib
import random
import struct
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, NewTopic  # type: ignore[attr-defined]

from rebalance_agent.groupprotocol.consumer_protocol import encode_assignment, encode_subscription
from rebalance_agent.groupprotocol.coordinator_partition import offsets_partition
from rebalance_agent.groupprotocol.tables import GROUP_METADATA
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from rebalance_agent.testing import EmbeddedKafka

TOPIC = "__consumer_offsets"
OFFSETS_PARTITIONS = 50
"""Kafka's default number of partitions of the offsets topic."""

GROUPS = 2_000
MEMBERS = 20
PARTITIONS = 20
"""Number of partitions of the topic that every group reads."""

RECORDS_PER_GENERATION = 30
"""One record in this many is a generation of a group, the others are commits. With 1.5 M records, each of 2,000 groups
has 25 generations."""

SESSION_TIMEOUT_MS = 30 * 60_000
"""Session timeout in ms. The members do not exist; a restarted broker keeps them until this timeout ends."""


def _text(value: str) -> bytes:
    data = value.encode()
    return struct.pack(">h", len(data)) + data


def _bytes(value: bytes) -> bytes:
    return struct.pack(">i", len(value)) + value


def commit(group: str, topic: str, partition: int, offset: int, now_ms: int) -> tuple[bytes, bytes]:
    """Return key (version 1) and value (version 3) of a committed offset."""
    key = struct.pack(">h", 1) + _text(group) + _text(topic) + struct.pack(">i", partition)
    return key, struct.pack(">hqi", 3, offset, -1) + _text("") + struct.pack(">q", now_ms)


@lru_cache(100_000)
def _member(index: int, number: int, members: int) -> bytes:
    """Return the bytes that follow the member id in a member's entry."""
    owned = {"orders": tuple(range(index, PARTITIONS, members))}
    subscription = ConsumerSubscription(3, ("orders",), None, owned, number - 1, None)
    host = struct.pack(">h", -1) + _text(f"client-{index}") + _text("/10.0.0.1")
    protocol_data = _bytes(encode_subscription(subscription)) + _bytes(encode_assignment(ConsumerAssignment(3, owned)))
    return host + struct.pack(">ii", SESSION_TIMEOUT_MS, SESSION_TIMEOUT_MS) + protocol_data


def generation(group: str, number: int, now_ms: int, members: int = MEMBERS) -> tuple[bytes, bytes]:
    """Return key (version 2) and value (version 3) of the GroupMetadata record of a stable group."""
    body = b"".join(_text(f"{group}-member-{index}") + _member(index, number, members) for index in range(members))
    head = struct.pack(">h", 3) + _text("consumer") + struct.pack(">i", number) + _text("range")
    head += _text(f"{group}-member-0") + struct.pack(">qi", now_ms, members)
    return struct.pack(">h", 2) + _text(group), head + body


def group_key(group: str) -> bytes:
    """Return the key (version 2) of a classic group's record."""
    return GROUP_METADATA.key.encode(2, {"group": group})


def group_value(number: int, members: Iterable[tuple[str, bytes, bytes]], now_ms: int = 1_700_000_000_000) -> bytes:
    """Return the value (version 3) of a classic group's record; a member is its id, subscription and assignment."""
    fields = [
        {
            "member_id": member_id,
            "group_instance_id": None,
            "client_id": "client",
            "client_host": "/10.0.0.1",
            "rebalance_timeout": 60_000,
            "session_timeout": SESSION_TIMEOUT_MS,
            "subscription": subscription,
            "assignment": assignment,
        }
        for member_id, subscription, assignment in members
    ]
    value = {
        "protocol_type": "consumer",
        "generation": number,
        "protocol": "range",
        "leader": fields[0]["member_id"] if fields else None,
        "current_state_timestamp": now_ms,
        "members": fields,
    }
    return GROUP_METADATA.value.encode(3, value)


def name_of(group: int) -> str:
    """Return the id of group number ``group``."""
    return f"group-{group:05}"


def records(total: int, groups: int, now_ms: int, seed: int = 1) -> Iterator[tuple[bytes, bytes]]:
    """Yield ``total`` records; one in `RECORDS_PER_GENERATION` is a generation, the others are commits.

    The generations are those of all groups in turn, the commits are those of random groups.
    """
    rng = random.Random(seed)
    for index in range(total):
        turn, rest = divmod(index, RECORDS_PER_GENERATION)
        if rest:
            name = name_of(rng.randrange(groups))
            yield commit(name, "orders", rng.randrange(PARTITIONS), index, now_ms + index // 1000)
        else:
            yield generation(name_of(turn % groups), turn // groups + 1, now_ms + index // 1000)


def partition_of(group_key: bytes, partitions: int) -> int:
    """Return the partition of the offsets topic that has the group of a record's key."""
    length = struct.unpack_from(">h", group_key, 2)[0]
    return _placed(group_key[4 : 4 + length], partitions)


@lru_cache(100_000)
def _placed(group: bytes, partitions: int) -> int:
    return offsets_partition(group.decode(), partitions)


@contextlib.contextmanager
def offsets_broker() -> Iterator[tuple[EmbeddedKafka, int]]:
    """Run a broker with the topic that the groups read; yield it and the partition count of its offsets topic."""
    with EmbeddedKafka(properties={"offsets.topic.num.partitions": str(OFFSETS_PARTITIONS)}) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
        admin.create_topics([NewTopic("orders", PARTITIONS, 1)])["orders"].result()
        yield kafka, len(admin.list_topics(TOPIC).topics[TOPIC].partitions)


def writer(bootstrap: str, linger_ms: int = 50) -> Producer:
    """Return a producer that can write to the offsets topic."""
    return Producer(
        {
            "bootstrap.servers": bootstrap,
            "client.id": "__admin_client",
            "linger.ms": linger_ms,
            "log_level": 0,
            "queue.buffering.max.messages": 200_000,
        }
    )


def enqueue(producer: Producer, topic: str, **record: Any) -> None:
    """Produce a record as soon as the producer's queue has space."""
    while True:
        try:
            producer.produce(topic, **record)
        except BufferError:
            producer.poll(0.1)
        else:
            return


def fill(bootstrap: str, made: Iterable[tuple[bytes, bytes]], partitions: int) -> None:
    """Produce the records ``made`` to the offsets topic; the records of a group keep their order."""
    producer = writer(bootstrap)
    for key, value in made:
        enqueue(producer, TOPIC, key=key, value=value, partition=partition_of(key, partitions))
        producer.poll(0)
    producer.flush()
