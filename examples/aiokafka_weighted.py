"""Two aiokafka consumers share a topic 3 : 1, as a large machine and a small one would.

Each of their rebalances is reported to the sidecar at http://127.0.0.1:29309, if there is one.
"""

from __future__ import annotations

import argparse
import asyncio

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


async def main() -> None:
    """Run both."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bootstrap-servers", default="localhost:9092")
    parser.add_argument("--topic", default="orders")
    parser.add_argument("--seconds", type=float, default=30)
    options = parser.parse_args()
    end = asyncio.get_running_loop().time() + options.seconds
    for line in await asyncio.gather(consume(300, options, end), consume(100, options, end)):
        print(line)


if __name__ == "__main__":
    asyncio.run(main())
