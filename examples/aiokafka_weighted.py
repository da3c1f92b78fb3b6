"""Two aiokafka consumers share a topic 3 : 1, as a large machine and a small one would.

With ``--create``, the program first creates the topic with 12 partitions, and writes 240 records when both consumers
have joined.
Each of their rebalances is reported to the sidecar at http://127.0.0.1:29309/v1/events, if there is one.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging

from aiokafka import AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.errors import KafkaError

from rebalance_agent.clients.aiokafka import AIOKafkaConsumer

PARTITIONS = 12
RECORDS = 20 * PARTITIONS


def member(weight: int, options: argparse.Namespace) -> AIOKafkaConsumer:
    """Return a consumer of the group."""
    return AIOKafkaConsumer(
        options.topic,
        bootstrap_servers=options.bootstrap_servers,
        group_id="aiokafka-weighted",
        auto_offset_reset="earliest",
        partition_assignment_strategy="weighted-sticky",
        assignor_config={"assignment.consumer.weight": weight},
    )


async def consume(consumer: AIOKafkaConsumer, weight: int, end: float) -> str:
    """Run one member until ``end`` of the loop's clock: both end together, so neither takes over."""
    records = 0
    try:
        await consumer.start()
        try:
            async with asyncio.timeout_at(end):
                async for _record in consumer:
                    records += 1
        except TimeoutError:
            pass
        return f"weight {weight}: {len(consumer.assignment())} partitions, {records} records"
    finally:
        await consumer.stop()


async def create(options: argparse.Namespace) -> None:
    """Create the topic if it does not exist, and wait until each partition has a leader."""
    admin = AIOKafkaAdminClient(bootstrap_servers=options.bootstrap_servers)
    try:
        await admin.start()
        await admin.create_topics([NewTopic(options.topic, num_partitions=PARTITIONS, replication_factor=1)])
        leaders: list[int] = []
        while not leaders or min(leaders) < 0:
            await asyncio.sleep(0.1)
            (topic,) = await admin.describe_topics([options.topic])
            leaders = [partition["leader"] for partition in topic["partitions"]]
    finally:
        await admin.close()


async def write(consumers: list[AIOKafkaConsumer], options: argparse.Namespace, end: float) -> int:
    """Write `RECORDS` records when all consumers have joined: before that, the first would read all.

    Returns:
        The number of records that were written before ``end``.
    """
    written = 0
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout_at(end):
            while {len(consumer.assignment()) for consumer in consumers} != {9, 3}:  # noqa: ASYNC110 - no event exists
                await asyncio.sleep(0.1)
            async with AIOKafkaProducer(bootstrap_servers=options.bootstrap_servers) as producer:
                while written < RECORDS:
                    await producer.send_and_wait(options.topic, b"%d" % written, partition=written % PARTITIONS)
                    written += 1
    return written


async def main() -> None:
    """Run both members."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.ArgumentDefaultsHelpFormatter)
    parser.add_argument("--bootstrap-servers", default="localhost:9092", metavar="HOST:PORT", help="brokers")
    parser.add_argument("--topic", default="orders", help="topic; it must exist, unless --create is given")
    parser.add_argument("--create", action="store_true", help="create the topic, and write records to it")
    parser.add_argument("--seconds", type=float, default=30, help="seconds to consume")
    options = parser.parse_args()
    if options.create:
        await create(options)
    end = asyncio.get_running_loop().time() + options.seconds
    consumers = {weight: member(weight, options) for weight in (300, 100)}
    writing = asyncio.create_task(write([*consumers.values()], options, end)) if options.create else None
    for line in await asyncio.gather(*(consume(consumer, weight, end) for weight, consumer in consumers.items())):
        print(line)
    if writing and (written := await writing) < RECORDS:
        raise SystemExit(f"{written} of {RECORDS} records were written in time: use a larger --seconds")


if __name__ == "__main__":
    logging.getLogger("aiokafka").setLevel(logging.CRITICAL)  # without a broker, one line is enough
    try:
        asyncio.run(main())
    except KafkaError as error:
        raise SystemExit(str(error)) from None
