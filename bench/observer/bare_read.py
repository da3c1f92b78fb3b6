"""Reads the offsets topic with little work: measures the cost of reading alone, and of plain decoding.

``python -m bench.observer.bare_read BOOTSTRAP PARTITIONS RECORDS`` does what every reader must do: it reads batches
with confluent-kafka, counts the records, and drops them. At the end it prints its CPU seconds and memory as JSON.

- ``--decode``: decodes every record except offset commits, like a reader that does not skip all but the last record of
  a key.
- ``--follow SECONDS``: reads from the end of the topic for that time.
- ``--stamps GROUP``: counts only the generations of that group, and prints a line when it starts to read. The JSON
  contains only the times at which it read the generations, in epoch milliseconds.
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
    """Return the time at which each generation of the group was read, in epoch milliseconds."""
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
