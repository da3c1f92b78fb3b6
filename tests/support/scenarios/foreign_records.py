"""Records that make the offsets topic hard to read: open transactions, and records of other programs.

Clients with ``client.id=__admin_client`` may produce there. A coordinator that loads its partition again fails at
unreadable records, so they are written to a partition without a real group.
"""

from __future__ import annotations

import random
import struct
import threading
from contextlib import ExitStack, contextmanager

from bench.synthetic import TOPIC, generation, partition_of
from confluent_kafka import Consumer, Producer, TopicPartition

from support.kafka.stillness import GIVEN_UP_S
from support.observer.observing import PATIENCE_S, create_topic

PARTITIONS = 8
FOREIGN_PARTITION = 0
"""A partition of the offsets topic without real groups."""

PAUSE_S = 0.5


def offsets_partition(group):
    """The partition of the offsets topic (of `PARTITIONS`) of a group."""
    return partition_of(generation(group, 1, 0, members=0)[0], PARTITIONS)


def write(bootstrap, records, partition=FOREIGN_PARTITION):
    """Produce (key, value) pairs."""
    settings = {"bootstrap.servers": bootstrap, "client.id": "__admin_client", "linger.ms": 20}
    producer = Producer({**settings, "queue.buffering.max.messages": 500_000})
    for key, value in records:
        producer.produce(TOPIC, key=key, value=value, partition=partition)
        producer.poll(0)
    assert producer.flush(GIVEN_UP_S) == 0


def bad_records(groups, seed):
    """Truncated and damaged records, and records of future versions; some with the keys of real groups."""
    rng = random.Random(seed)
    for group in groups:
        key, value = generation(group, 1_000_000, 0)
        yield key, value[: rng.randrange(2, len(value))]
        yield key, struct.pack(">h", 99) + value[2:]
        yield key, value[:30] + b"\xff" * 100
        yield key, b""
    key = generation("nobody", 1, 0)[0]
    for version in (*range(3, 9), *range(10, 24)):
        yield struct.pack(">h", version) + key[2:], rng.randbytes(40)
        yield struct.pack(">h", version) + key[2:] + struct.pack(">h", 30_000), rng.randbytes(40)
    yield struct.pack(">h", 99) + rng.randbytes(10), rng.randbytes(10)
    yield b"", b""
    yield b"\x00", None


@contextmanager
def writing_bad_records(bootstrap, groups):
    """Write `bad_records` repeatedly until the block ends."""
    stop, written = threading.Event(), []

    def run():
        while not stop.is_set():
            write(bootstrap, bad_records(groups, len(written)))
            written.append(len(written))
            stop.wait(PAUSE_S)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(GIVEN_UP_S)
    assert written


@contextmanager
def open_transactions(bootstrap, groups, replicas=1):
    """Commit offsets of these groups in transactions that stay open until the block ends."""
    create_topic(bootstrap, "transacted", 1, replicas)
    with ExitStack() as stack:
        for group in groups:
            settings = {"bootstrap.servers": bootstrap, "log_level": 0}
            producer = Producer({**settings, "transactional.id": group, "transaction.timeout.ms": 600_000})
            consumer = Consumer({**settings, "group.id": group})
            stack.callback(consumer.close)
            producer.init_transactions(PATIENCE_S)
            producer.begin_transaction()
            offsets = [TopicPartition("transacted", 0, 1)]
            producer.send_offsets_to_transaction(offsets, consumer.consumer_group_metadata(), PATIENCE_S)
            stack.callback(producer.abort_transaction, PATIENCE_S)  # raises if it is no longer open
        yield
