"""A consumer of any release of confluent-kafka, as a program: ``BOOTSTRAP GROUP TOPIC CLIENT_ID``.

It needs only that package, so it runs in an environment with an old release. It prints the lines of `member_lines`, and
librdkafka's errors to standard error, and ends at the end of standard input.
"""

from __future__ import annotations

import sys
import threading

from confluent_kafka import Consumer

from rebalance_agent.clock import SystemClock

CLOCK = SystemClock()


def printing(word):
    """A callback that prints its partitions."""
    return lambda _, given: print_line(word, *sorted(each.partition for each in given))


def print_line(word, *numbers):
    print(word, CLOCK.now_ms(), *numbers, flush=True)


def main(bootstrap, group, topic, client_id):
    """Run a member until standard input ends, then leave."""
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": group,
            "client.id": client_id,
            "auto.offset.reset": "earliest",
            "log_level": 5,  # without the line for each new subscription
            "error_cb": lambda error: print(error, file=sys.stderr, flush=True),
        }
    )
    consumer.subscribe([topic], on_assign=printing("assigned"), on_revoke=printing("revoked"), on_lost=printing("lost"))
    while not stop.is_set():
        message = consumer.poll(0.1)
        if message is not None and message.error() is None:
            print_line("read", message.partition(), message.offset())
    consumer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
