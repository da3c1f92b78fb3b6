"""A Python consumer, bare or instrumented, as a process: ``python -m chaos.members.member JSON``.

See `callback_lines`.
"""

from __future__ import annotations

import asyncio
import contextlib
import warnings

from chaos.members.callback_lines import POLL_S, act_as

STOPPING_S = 20.0
"""Twice its session timeout: the group has removed it by then."""

WORDS = {"assign": "assigned", "revoke": "revoked", "lost": "lost"}


def librdkafka(config, polls, stop):
    """Run confluent-kafka's own consumer, or our adapter of it."""
    settings = {
        "bootstrap.servers": config["bootstrap"],
        "group.id": config["group"],
        "client.id": config["name"],
        "auto.offset.reset": "earliest",
        "auto.commit.interval.ms": 1_000,
        "log_level": 0,
        **config["settings"],
    }
    if config["events_url"]:
        from rebalance_agent.clients.confluent_kafka import Consumer  # noqa: PLC0415 - nothing of it in a bare one

        consumer = Consumer(settings, events_url=config["events_url"])
    else:
        from confluent_kafka import Consumer  # noqa: PLC0415

        consumer = Consumer(settings)

    def reported(word):
        return lambda _, given: polls.reported(word, given)

    consumer.subscribe([config["topic"]], **{f"on_{name}": reported(word) for name, word in WORDS.items()})
    while not stop.is_set():
        with polls.poll():
            message = consumer.poll(POLL_S)
        if message is not None and message.error() is None:
            polls.say("read", message.partition(), message.offset())
    consumer.close()


def kafka_python(config, polls, stop):
    """Run our adapter of kafka-python's consumer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from kafka import ConsumerRebalanceListener  # noqa: PLC0415

        from rebalance_agent.clients.kafka_python import KafkaConsumer  # noqa: PLC0415

    consumer = KafkaConsumer(**_settings(config))
    consumer.subscribe([config["topic"]], listener=_listener(ConsumerRebalanceListener, polls))
    while not stop.is_set():
        with polls.poll():
            records = consumer.poll(timeout_ms=round(POLL_S * 1000))
        _read(records, polls)
    consumer.close()


def aiokafka(config, polls, stop):
    """Run our adapter of aiokafka's consumer, in an event loop."""
    asyncio.run(_aiokafka(config, polls, stop))


async def _aiokafka(config, polls, stop):
    from aiokafka.abc import ConsumerRebalanceListener  # noqa: PLC0415

    from rebalance_agent.clients.aiokafka import AIOKafkaConsumer  # noqa: PLC0415

    consumer = AIOKafkaConsumer(**_settings(config))
    await consumer.start()
    consumer.subscribe([config["topic"]], listener=_listener(ConsumerRebalanceListener, polls))
    while not stop.is_set():
        with polls.poll():
            records = await consumer.getmany(timeout_ms=round(POLL_S * 1000))
        _read(records, polls)
    # Of aiokafka 0.14: it has left its group, and raises what its own cancelled fetch does (aio-libs/aiokafka#647). And
    # where its coordinator goes while it stops, it looks for no other, tries to commit for ever, and never ends.
    with contextlib.suppress(asyncio.CancelledError, TimeoutError):
        await asyncio.wait_for(consumer.stop(), STOPPING_S)


def _settings(config):
    """Return the settings under the names of kafka-python and aiokafka."""
    return {
        "bootstrap_servers": config["bootstrap"],
        "group_id": config["group"],
        "client_id": config["name"],
        "auto_offset_reset": "earliest",
        "auto_commit_interval_ms": 1_000,
        "events_url": config["events_url"],
        **config["settings"],
    }


def _listener(base, polls):
    """Return a listener of their class ``base``. Losses are reported if the client knows them."""

    def reported(word):
        return lambda _, given: polls.reported(word, given)

    return type("Listener", (base,), {f"on_partitions_{word}": reported(word) for word in WORDS.values()})()


def _read(records, polls):
    for batch in records.values():
        for each in batch:
            polls.say("read", each.partition, each.offset)


CLIENTS = {"librdkafka": librdkafka, "kafka-python": kafka_python, "aiokafka": aiokafka}

if __name__ == "__main__":
    act_as(lambda config, polls, stop: CLIENTS[config["client"]](config, polls, stop))
