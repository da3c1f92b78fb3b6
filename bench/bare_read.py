"""The least that any reader of the offsets topic does: confluent-kafka, batches, count, drop.

``python -m bench.bare_read BOOTSTRAP PARTITIONS RECORDS`` prints its own CPU and memory as JSON.
"""

from __future__ import annotations

import json
import sys

from confluent_kafka import OFFSET_BEGINNING, Consumer, TopicPartition

from bench.measure import usage
from bench.synthetic import TOPIC


def main(bootstrap: str, partitions: int, total: int) -> None:
    """Read ``total`` records."""
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "bench-bare-read",
            "enable.auto.commit": False,
            "isolation.level": "read_uncommitted",
            "fetch.queue.backoff.ms": 10,
            "queued.max.messages.kbytes": 65_536,
        }
    )
    consumer.assign([TopicPartition(TOPIC, number, OFFSET_BEGINNING) for number in range(partitions)])
    before = usage()
    count = 0
    while count < total:
        count += len(consumer.consume(10_000, 1.0))
    after = usage()
    consumer.close()
    print(json.dumps({"records": count, "cpu_s": after["cpu_s"] - before["cpu_s"], "rss_mib": after["rss_mib"]}))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
