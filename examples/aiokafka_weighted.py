"""Two aiokafka consumers share a topic 3 : 1, as a large machine and a small one would.

With ``--create``, it makes the topic first, with 12 partitions and 240 records. Each of their rebalances is reported to
the sidecar at http://127.0.0.1:29309, if there is one.
"""

from __future__ import annotations

import argparse
import asyncio

from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from rebalance_agent.clients.aiokafka import AIOKafkaConsumer


async def consume(weight: int, options: argparse.Namespace, end: float) -> str:
    """Run one member until ``end`` of the loop's clock: both end together, so neither takes over."""
    consumer = AIOKafkaConsumer(
        options.topic,
        bootstrap_servers=options.bootstrap_servers,
        group_id="aiokafka-weighted",
        auto_offset_reset="earliest",
        partition_assignment_strategy="weighted-sticky",
        assignor_config={"assignment.consumer.weight": weight},
    )
    records = 0
    async with consumer:
        try:
            async with asyncio.timeout_at(end):
                async for _record in consumer:
                    records += 1
        except TimeoutError:
            pass
        return f"weight {weight}: {len(consumer.assignment())} partitions, {records} records"


async def create(options: argparse.Namespace) -> None:
    """Create the topic with 12 partitions, and write 20 records to each."""
    admin = AIOKafkaAdminClient(bootstrap_servers=options.bootstrap_servers)
    await admin.start()
    try:
        await admin.create_topics([NewTopic(options.topic, num_partitions=12, replication_factor=1)])
    finally:
        await admin.close()
    async with AIOKafkaProducer(bootstrap_servers=options.bootstrap_servers) as producer:
        for number in range(240):
            await producer.send_and_wait(options.topic, b"%d" % number, partition=number % 12)


async def main() -> None:
    """Run both members."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap-servers", default="localhost:9092")
    parser.add_argument("--topic", default="orders")
    parser.add_argument("--create", action="store_true", help="create the topic, with records")
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    if options.create:
        await create(options)
    end = asyncio.get_running_loop().time() + options.seconds
    for line in await asyncio.gather(consume(300, options, end), consume(100, options, end)):
        print(line)


if __name__ == "__main__":
    asyncio.run(main())
