"""A Python consumer, bare or instrumented, as a process: ``python -m chaos.members.member JSON``.

See `callback_lines`.
"""

from __future__ import annotations

import asyncio
import contextlib
import warnings

from chaos.members.callback_lines import POLL_S, act_as
from chaos.members.commits import Commits

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

    commits = Commits(settings.get("enable.auto.commit", True), lambda offsets: _commit(consumer, config, offsets))

    def reported(word):
        def report(_, given):
            commits.give_up([each.partition for each in given], word)
            polls.reported(word, given)

        return report

    consumer.subscribe([config["topic"]], **{f"on_{name}": reported(word) for name, word in WORDS.items()})
    while not stop.is_set():
        with polls.poll():
            message = consumer.poll(POLL_S)
        if message is not None and message.error() is None:
            polls.say("read", message.partition(), message.offset())
            commits.read(message.partition(), message.offset())
        commits.commit_when_due()
    consumer.close()


def _commit(consumer, config, offsets):
    """Commit, with the client id as metadata."""
    from confluent_kafka import KafkaException, TopicPartition  # noqa: PLC0415

    given = [TopicPartition(config["topic"], *each, metadata=config["name"]) for each in offsets.items()]
    with contextlib.suppress(KafkaException):  # refused, or no coordinator: the next owner reads them again
        consumer.commit(offsets=given, asynchronous=False)


def kafka_python(config, polls, stop):
    """Run kafka-python's own consumer, or our adapter of it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from kafka import ConsumerRebalanceListener  # noqa: PLC0415
        from kafka.errors import KafkaError  # noqa: PLC0415

        if config["events_url"]:
            from rebalance_agent.clients.kafka_python import KafkaConsumer  # noqa: PLC0415
        else:
            from kafka import KafkaConsumer  # noqa: PLC0415

    settings = _settings(config)
    consumer = None
    while consumer is None:
        with contextlib.suppress(KafkaError):  # a gateway is away: an orchestrator would restart this process
            consumer = KafkaConsumer(**settings)

    def commit(offsets):
        with contextlib.suppress(KafkaError):  # as in `_commit`
            consumer.commit(_offsets_python(config, offsets))

    def commit_in_callback(offsets):  # kafka-python calls listeners in its own thread, where `commit` raises
        consumer.commit_async(_offsets_python(config, offsets))

    commits = Commits(settings.get("enable_auto_commit", True), commit, commit_in_callback)
    consumer.subscribe([config["topic"]], listener=_listener(ConsumerRebalanceListener, polls, commits))
    while not stop.is_set():
        records = {}
        with polls.poll(), contextlib.suppress(KafkaError):  # it raises without a reachable broker
            records = consumer.poll(timeout_ms=round(POLL_S * 1000))
        _read(records, polls, commits)
        commits.commit_when_due()
    commits.commit()
    consumer.close()


def _offsets_python(config, offsets):
    """Return kafka-python's offsets, with the client id as metadata."""
    from kafka import OffsetAndMetadata, TopicPartition  # noqa: PLC0415

    return {
        TopicPartition(config["topic"], partition): OffsetAndMetadata(offset, config["name"], -1)
        for partition, offset in offsets.items()
    }


def aiokafka(config, polls, stop):
    """Run aiokafka's own consumer, or our adapter of it, in an event loop."""
    asyncio.run(_aiokafka(config, polls, stop))


async def _aiokafka(config, polls, stop):
    from aiokafka.abc import ConsumerRebalanceListener  # noqa: PLC0415
    from aiokafka.errors import KafkaConnectionError  # noqa: PLC0415

    if config["events_url"]:
        from rebalance_agent.clients.aiokafka import AIOKafkaConsumer  # noqa: PLC0415
    else:
        from aiokafka import AIOKafkaConsumer  # noqa: PLC0415

    while True:
        consumer = AIOKafkaConsumer(**_settings(config))
        try:
            await consumer.start()
            break
        except KafkaConnectionError:  # as above
            await consumer.stop()
            await asyncio.sleep(POLL_S)
    consumer.subscribe([config["topic"]], listener=_listener(ConsumerRebalanceListener, polls))
    while not stop.is_set():
        with polls.poll():
            records = await consumer.getmany(timeout_ms=round(POLL_S * 1000))
        _read(records, polls)
    # aiokafka 0.14 has left its group by then, and raises the error of its own cancelled fetch (aio-libs/aiokafka#647).
    # If its coordinator fails while it stops, it looks for no other, tries to commit for ever, and never ends.
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
        **({"events_url": config["events_url"]} if config["events_url"] else {}),
        **config["settings"],
    }


def _listener(base, polls, commits=None):
    """Return a listener of their class ``base``. Losses are reported if the client has a callback for them."""

    def reported(word):
        def report(_, given):
            if commits:
                commits.give_up([each.partition for each in given], word)
            polls.reported(word, given)

        return report

    return type("Listener", (base,), {f"on_partitions_{word}": reported(word) for word in WORDS.values()})()


def _read(records, polls, commits=None):
    for batch in records.values():
        for each in batch:
            polls.say("read", each.partition, each.offset)
            if commits:
                commits.read(each.partition, each.offset)


CLIENTS = {"librdkafka": librdkafka, "kafka-python": kafka_python, "aiokafka": aiokafka}

if __name__ == "__main__":
    act_as(lambda config, polls, stop: CLIENTS[config["client"]](config, polls, stop))
