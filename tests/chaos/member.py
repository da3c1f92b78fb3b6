"""A Python consumer, bare or instrumented, in a process of its own: ``python -m chaos.member JSON``.

It says in lines what happens to it, as `support.member_lines` has them, and once a second ``late MS US...``: how much
longer than asked for (microseconds) each poll took that did. It leaves its group when standard input ends.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import warnings

from rebalance_agent.clock import SystemClock

POLL_S = 0.1
SAID_EVERY_S = 1.0
LEAVING_S = 80.0
"""Longer it does not take to leave: with the run all brokers may be gone, and librdkafka waits for one."""

CALLBACKS = {"assign": "assigned", "revoke": "revoked", "lost": "lost"}


class Polls:
    """Says what one consumer's polls are like."""

    def __init__(self):
        self._clock = SystemClock()
        self._late_us, self._said_at = [], self._clock.monotonic()

    def say(self, word, *numbers):
        """One line, at once: none is lost with the process."""
        sys.stdout.write(" ".join(map(str, (word, self._clock.now_ms(), *numbers))) + "\n")
        sys.stdout.flush()

    def poll(self, call):
        """What ``call`` returns, which should take `POLL_S` at most."""
        asked = self._clock.monotonic()
        found = call()
        ended = self._clock.monotonic()
        if (late_s := ended - asked - POLL_S) > 0:
            self._late_us.append(max(1, round(late_s * 1_000_000)))
        if ended - self._said_at > SAID_EVERY_S:
            self.say("late", *self._late_us)
            self._late_us, self._said_at = [], ended
        return found


def librdkafka(config, polls, stop):
    """confluent-kafka's consumer as it is, or ours around it."""
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
        from rebalance_agent.clients.confluent_plain import Consumer  # noqa: PLC0415 - nothing of it in a bare one

        consumer = Consumer(settings, events_url=config["events_url"])
    else:
        from confluent_kafka import Consumer  # noqa: PLC0415

        consumer = Consumer(settings)

    def told(word):
        return lambda _, given: polls.say(word, *(each.partition for each in given))

    consumer.subscribe([config["topic"]], **{f"on_{name}": told(word) for name, word in CALLBACKS.items()})
    while not stop.is_set():
        message = polls.poll(lambda: consumer.poll(POLL_S))
        if message is not None and message.error() is None:
            polls.say("read", message.partition(), message.offset())
    consumer.close()


def kafka_python(config, polls, stop):
    """Ours around kafka-python's consumer."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        from kafka import ConsumerRebalanceListener  # noqa: PLC0415

        from rebalance_agent.clients.kafka_python import KafkaConsumer  # noqa: PLC0415

    def told(word):
        return lambda _, given: polls.say(word, *(each.partition for each in given))

    told_of = {f"on_partitions_{word}": told(word) for word in CALLBACKS.values()}
    listener = type("Listener", (ConsumerRebalanceListener,), told_of)()
    consumer = KafkaConsumer(
        bootstrap_servers=config["bootstrap"],
        group_id=config["group"],
        client_id=config["name"],
        auto_offset_reset="earliest",
        auto_commit_interval_ms=1_000,
        events_url=config["events_url"],
        **config["settings"],
    )
    consumer.subscribe([config["topic"]], listener=listener)
    while not stop.is_set():
        for batch in polls.poll(lambda: consumer.poll(timeout_ms=round(POLL_S * 1000))).values():
            for each in batch:
                polls.say("read", each.partition, each.offset)
    consumer.close()


CLIENTS = {"librdkafka": librdkafka, "kafka-python": kafka_python}


def main():
    """Be a member until standard input ends."""
    config, stop = json.loads(sys.argv[1]), threading.Event()
    threading.Thread(target=_end, args=(stop,), daemon=True).start()
    CLIENTS[config["client"]](config, Polls(), stop)


def _end(stop):
    sys.stdin.read()
    stop.set()
    threading.Event().wait(LEAVING_S)
    os._exit(1)


if __name__ == "__main__":
    main()
