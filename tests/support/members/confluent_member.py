"""One member of the soak in its own process: ``confluent_member.py CONFIG TOPIC LOG``.

It writes a line to LOG for every event, each with one write, so that none is lost if the process is killed:
``record P O`` for a record before its offset is stored, ``stray P O`` for a record of a partition that it does not own,
``generation N`` at each assignment, ``lost N`` for N lost partitions, ``exceeded TEXT`` if ``max.poll.interval.ms`` was
exceeded, ``error TEXT``, ``left``. It reads commands from standard input: ``slow SECONDS`` (no polls for this time),
``leave``.
"""

from __future__ import annotations

import json
import os
import queue
import struct
import sys
import threading

from confluent_kafka import KafkaError, KafkaException, Message

from rebalance_agent.clients.confluent_assignors import Consumer
from rebalance_agent.demo.processes.exit_with_parent import watch_stdin


class Member:
    """The member's partitions, and its log."""

    def __init__(self, path: str) -> None:
        self.held: set[int] = set()
        self._log = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def say(self, *words: object) -> None:
        os.write(self._log, (" ".join(map(str, words)) + "\n").encode())

    def on_assign(self, consumer: Consumer, partitions: list) -> None:
        self.held.update(each.partition for each in partitions)
        (generation,) = struct.unpack_from("=i", consumer.consumer_group_metadata(), len(b"CGMDv2:"))
        self.say("generation", generation)

    def on_revoke(self, _consumer: Consumer, partitions: list) -> None:
        self.held.difference_update(each.partition for each in partitions)

    def on_lost(self, consumer: Consumer, partitions: list) -> None:
        self.on_revoke(consumer, partitions)
        self.say("lost", len(partitions))

    def process(self, consumer: Consumer, message: Message) -> None:
        if message.error() is not None:
            expected = message.error().code() == KafkaError._MAX_POLL_EXCEEDED
            self.say("exceeded" if expected else "error", message.error())
            return
        self.say("record" if message.partition() in self.held else "stray", message.partition(), message.offset())
        try:
            consumer.store_offsets(message=message)
        except KafkaException as error:
            self.say("error", error)


def main() -> None:
    """Consume until the command ``leave``."""
    config, topic, path = json.loads(sys.argv[1]), sys.argv[2], sys.argv[3]
    member = Member(path)
    commands: queue.Queue[list[str]] = queue.Queue()
    watch_stdin(lambda line: commands.put(line.split()))
    weight = {"assignment.consumer.weight": 1 + os.getpid() % 3}
    with Consumer(config, assignor_config=weight, events_url="") as consumer:
        consumer.subscribe([topic], on_assign=member.on_assign, on_revoke=member.on_revoke, on_lost=member.on_lost)
        while True:
            if not commands.empty():
                command, *rest = commands.get()
                if command == "leave":
                    break
                threading.Event().wait(float(rest[0]))
            message = consumer.poll(0.1)
            if message is not None:
                member.process(consumer, message)
    member.say("left")


if __name__ == "__main__":
    main()
