"""Leaves a transaction with committed offsets open in every partition of the offsets topic."""

from __future__ import annotations

from confluent_kafka import Consumer, Producer, TopicPartition

from judge.play.run_context import OFFSETS_PARTITIONS, TRANSACTIONS

ANSWER_S = 30


def open_transaction(bootstrap, name):
    """Open a transaction ``name`` with offsets, and return its producer."""
    producer = Producer(
        {
            "bootstrap.servers": bootstrap,
            "transactional.id": name,
            "transaction.timeout.ms": 60_000,
            "log_level": 0,
        }
    )
    producer.init_transactions(ANSWER_S)
    producer.begin_transaction()
    for group in one_group_per_partition("transactions"):
        offsets = [TopicPartition(TRANSACTIONS, 0, 1)]
        producer.send_offsets_to_transaction(offsets, _metadata(group, bootstrap), ANSWER_S)
    return producer


def _metadata(group, bootstrap):
    """Return the consumer group metadata for a transaction's offsets; the group has no members."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group, "log_level": 0})
    try:
        return consumer.consumer_group_metadata()
    finally:
        consumer.close()


def offsets_partition(group, partitions=OFFSETS_PARTITIONS):
    """Return a group's partition of the offsets topic, by Java's ``String.hashCode`` without its sign bit."""
    value = 0
    for character in group:
        value = (31 * value + ord(character)) & 0xFFFFFFFF
    return (value & 0x7FFFFFFF) % partitions


def one_group_per_partition(prefix):
    """Return names of groups, one for each partition of the offsets topic."""
    names = {}
    number = 0
    while len(names) < OFFSETS_PARTITIONS:
        names.setdefault(offsets_partition(f"{prefix}-{number}"), f"{prefix}-{number}")
        number += 1
    return list(names.values())
