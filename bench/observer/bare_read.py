"""Minimal readers of the offsets topic: the cost of reading alone, and of plain decoding.

``python -m bench.observer.bare_read BOOTSTRAP PARTITIONS RECORDS`` is the minimum for any reader: confluent-kafka,
batches, count, drop. ``--decode``: every record except offset commits is decoded, as in a reader that does not keep
only the last record of a key. ``--follow SECONDS`` reads from the topic's end for that time. Prints its CPU and memory
as JSON. ``--stamps GROUP`` counts only that group's generations, prints a line once it reads, and adds to the JSON the
time when it read each of them, in epoch milliseconds.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from time import monotonic, time_ns

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, Message, TopicPartition

from bench.measure import usage
from bench.synthetic import TOPIC, generation
from rebalance_agent.groupprotocol.classic_group import classic_group
from rebalance_agent.groupprotocol.records import decode_record, record_kind
from rebalance_agent.groupprotocol.tables import OFFSET_COMMIT


def main() -> None:
    """Read the topic and print the figures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bootstrap")
    parser.add_argument("partitions", type=int)
    parser.add_argument("records", type=int)
    parser.add_argument("--decode", action="store_true")
    parser.add_argument("--follow", type=float)
    parser.add_argument("--stamps")
    options = parser.parse_args()
    consumer = Consumer(
        {
            "bootstrap.servers": options.bootstrap,
            "group.id": "bench-bare-read",
            "enable.auto.commit": False,
            "isolation.level": "read_uncommitted",
            "fetch.queue.backoff.ms": 10,
            "queued.max.messages.kbytes": 65_536,
        }
    )
    begin = OFFSET_END if options.follow else OFFSET_BEGINNING
    partitions = [TopicPartition(TOPIC, number, begin) for number in range(options.partitions)]
    consumer.assign(_ended(consumer, partitions) if options.stamps else partitions)
    take = _decoded if options.decode else len
    end = monotonic() + (options.follow or float("inf"))
    if options.stamps:
        stamps = _stamps(consumer, options, end)
        print(json.dumps({"stamps": stamps}))
        return
    before = usage()
    count = 0
    while count < options.records and monotonic() < end:
        messages = consumer.consume(10_000, 0.1)
        take(messages)
        count += len(messages)
    after = usage()
    consumer.close()
    print(json.dumps({"records": count, "cpu_s": after["cpu_s"] - before["cpu_s"], "rss_mib": after["rss_mib"]}))


def _ended(consumer: Consumer, partitions: list[TopicPartition]) -> list[TopicPartition]:
    """Return the partitions at their present end offsets: records written after this call are read."""
    ends = (consumer.get_watermark_offsets(partition)[1] for partition in partitions)
    return [TopicPartition(TOPIC, partition.partition, end) for partition, end in zip(partitions, ends, strict=True)]


def _stamps(consumer: Consumer, options: argparse.Namespace, end: float) -> list[int]:
    """The times at which each generation of the group was read, in epoch milliseconds."""
    wanted, _ = generation(options.stamps, 0, 0)
    print("reads", flush=True)
    stamps: list[int] = []
    while len(stamps) < options.records and monotonic() < end:
        messages = consumer.consume(10_000, 0.1)
        now_ms = time_ns() // 1_000_000
        stamps += [now_ms for message in messages if message.key() == wanted]
    consumer.close()
    return stamps


def _decoded(messages: Sequence[Message]) -> None:
    for message in messages:
        key = message.key() or b""
        if record_kind(key) != OFFSET_COMMIT.kind:
            classic_group(decode_record(key, message.value()))


if __name__ == "__main__":
    main()
