"""A member that copies each record to another topic exactly once, in a process: ``python -m
chaos.members.transactions_member JSON``; see `callback_lines`.

The copy's value is ``PARTITION OFFSET`` of the record; offsets are committed in the copy's transaction.
"""

from __future__ import annotations

import contextlib
import queue
import threading

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from chaos.members.callback_lines import POLL_S, act_as
from rebalance_agent.clock import SystemClock

BATCH_S = 0.3
ANSWER_S = 20
TRANSACTION_MS = 10_000
COPIES = "copies"

STUCK_S = TRANSACTION_MS / 1000 + 2
"""Longest wait for a call that may never return: its transaction has been aborted by then."""


class StuckError(Exception):
    """A call of the producer did not return. Its producer cannot be used any more."""


class Copier:
    """One member: its consumer, and its producer with a transactional id of its own."""

    def __init__(self, config, polls, stop):
        self._config, self._polls, self._stop, self._clock = config, polls, stop, SystemClock()
        self._producers, self._batch = 0, []
        self.consumer = Consumer(
            {
                "bootstrap.servers": config["bootstrap"],
                "group.id": config["group"],
                "client.id": config["name"],
                "auto.offset.reset": "earliest",
                "partition.assignment.strategy": "range",
                "log_level": 0,
                **{name: value for name, value in config["settings"].items() if value is not None},
            }
        )
        self.consumer.subscribe(
            [config["topic"]],
            on_assign=self._reported("assigned"),
            on_revoke=self._reported("revoked"),
            on_lost=self._reported("lost"),
        )
        self._producer = None

    def run(self):
        """Copy until the stop, then leave."""
        try:
            self._producer = self._new_producer()
            while not self._stop.is_set():
                self._poll()
                if self._batch:
                    self._copy()
        except KafkaException:
            if not self._stop.is_set():
                raise
        self.consumer.close()

    def _reported(self, word):
        def report(_, given):
            gone = {each.partition for each in given}
            self._batch = [each for each in self._batch if each.partition() not in gone]
            self._polls.reported(word, given)

        return report

    def _poll(self):
        until = self._clock.monotonic() + BATCH_S
        while self._clock.monotonic() < until:
            with self._polls.poll():
                message = self.consumer.poll(POLL_S)
            if message is not None and message.error() is None:
                self._batch.append(message)

    def _copy(self):
        """Copy the batch and commit its offsets, or neither."""
        batch, self._batch = self._batch, []
        try:
            self._in_transaction(batch)
        except (KafkaException, StuckError) as error:
            self._abort(error)
            for partition in {each.partition() for each in batch}:
                first = min(each.offset() for each in batch if each.partition() == partition)
                with contextlib.suppress(KafkaException):  # it was taken away
                    self.consumer.seek(TopicPartition(self._config["topic"], partition, first))
            return
        for each in batch:
            self._polls.say("read", each.partition(), each.offset())

    def _in_transaction(self, batch):
        self._producer.begin_transaction()
        following = {}
        for each in batch:
            self._producer.produce(COPIES, f"{each.partition()} {each.offset()}", partition=each.partition())
            following[each.partition()] = each.offset() + 1
        offsets = [
            TopicPartition(self._config["topic"], *each, metadata=self._config["name"]) for each in following.items()
        ]
        member = self.consumer.consumer_group_metadata()
        self._again(self._send_offsets, offsets, member)
        self._again(self._producer.commit_transaction, ANSWER_S)

    def _send_offsets(self, offsets, member):
        """Send offsets to the transaction.

        In librdkafka 2.16 the call ignores its timeout, and may never return once the group's coordinator has changed
        (confluentinc/librdkafka#5456, #5511).
        """
        answers, send = queue.SimpleQueue(), self._producer.send_offsets_to_transaction

        def call():
            try:
                answers.put(send(offsets, member, ANSWER_S))
            except KafkaException as error:
                answers.put(error)

        threading.Thread(target=call, daemon=True).start()
        try:
            error = answers.get(timeout=STUCK_S)
        except queue.Empty:
            raise StuckError from None
        if error is not None:
            raise error

    def _abort(self, error):
        if isinstance(error, KafkaException) and not error.args[0].fatal():
            try:
                self._again(self._producer.abort_transaction, ANSWER_S)
            except KafkaException:
                pass
            else:
                return
        # Its transaction timed out while it was stopped, for example. The broker aborts one that is left open.
        self._producer = self._new_producer()

    def _new_producer(self):
        self._producers += 1
        producer = Producer(
            {
                "bootstrap.servers": self._config["bootstrap"],
                "transactional.id": f"{self._config['name']}-{self._producers}",
                "transaction.timeout.ms": TRANSACTION_MS,
                "log_level": 0,
            }
        )
        self._again(producer.init_transactions, ANSWER_S)
        return producer

    def _again(self, operation, *arguments):
        """Call it until it succeeds, fails for good, or the member is to stop."""
        while True:
            try:
                return operation(*arguments)
            except KafkaException as error:
                if not error.args[0].retriable() or self._stop.is_set():
                    raise


if __name__ == "__main__":
    act_as(lambda config, polls, stop: Copier(config, polls, stop).run())
