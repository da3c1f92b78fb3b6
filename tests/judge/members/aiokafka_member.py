"""An unmodified aiokafka member: ``python aiokafka_member.py JSON``; see `account`."""

from __future__ import annotations

import asyncio
import contextlib
import logging

from account import POLL_S, live, python_settings, start
from aiokafka import AIOKafkaConsumer
from aiokafka.abc import ConsumerRebalanceListener

STOPPING_S = 20.0
"""Timeout of ``stop()``, which in aiokafka 0.14 never ends if the coordinator fails during it."""

logging.disable()


class Client(ConsumerRebalanceListener):
    """The consumer in an event loop that runs while the member polls or waits."""

    def __init__(self, config, account, loop):
        self._account, self._loop = account, loop
        self._consumer = loop.run_until_complete(self._made(config))
        loop.run_until_complete(self._consumer.start())

    @staticmethod
    async def _made(config):
        """Create the consumer in a coroutine, from which aiokafka gets its event loop."""
        return AIOKafkaConsumer(**python_settings(config))

    def subscribe(self, topics):
        """Subscribe."""
        self._consumer.subscribe(topics, listener=self)

    def poll(self):
        """Return the partitions of a batch of records."""
        found = self._loop.run_until_complete(self._consumer.getmany(timeout_ms=round(POLL_S * 1000)))
        return [f"{each.topic}-{each.partition}" for each, records in found.items() if records]

    def wait(self, seconds):
        """Process a record for this long; the loop runs, and sends heartbeats."""
        self._loop.run_until_complete(asyncio.sleep(seconds))

    def close(self):
        """Leave the group."""
        with contextlib.suppress(asyncio.CancelledError, TimeoutError):
            self._loop.run_until_complete(asyncio.wait_for(self._consumer.stop(), STOPPING_S))

    async def _call(self, what, given):
        names = [f"{each.topic}-{each.partition}" for each in given]
        if slow_s := self._account.enter(what, names):
            await asyncio.sleep(slow_s)
        self._account.exit(what, names)

    async def on_partitions_revoked(self, revoked):
        """Called by the client."""
        await self._call("revoked", revoked)

    async def on_partitions_assigned(self, assigned):
        """Called by the client."""
        await self._call("assigned", assigned)


if __name__ == "__main__":
    config, account, commands = start()
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)

    client = Client(config, account, loop)
    account.say("subscribed", topics=config["topics"])
    client.subscribe(config["topics"])
    live(client, account, commands)
