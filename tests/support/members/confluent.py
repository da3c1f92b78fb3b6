"""Consumers of `clients.confluent_assignors`, each polled by its own thread."""

from __future__ import annotations

import threading

import pytest

from rebalance_agent.clients.confluent_assignors import Consumer

PATIENCE = 60.0


def until(condition, patience=PATIENCE):
    """Wait until ``condition()`` is true; fail the test after ``patience`` seconds."""
    pause = threading.Event()
    for _ in range(int(patience / 0.02)):
        if condition():
            return
        pause.wait(0.02)
    pytest.fail("the condition never came")


class Application:
    """A polled consumer with its callbacks and records. ``strays``: records of partitions that it did not own."""

    def __init__(self, config, topics, *, assignor_config=None, events_url="", on_record=None, **callbacks):
        self.consumer = Consumer(config, assignor_config=assignor_config, events_url=events_url)
        self.held = set()
        self.reported = []
        self.records = []
        self.strays = []
        self.errors = []
        self.failures = []
        self.on_record = on_record or (lambda _application, _message: None)
        self._callbacks = callbacks
        self._stop = threading.Event()
        self._stalled, self._away = threading.Event(), threading.Event()
        self._go_on = threading.Event()
        self.consumer.subscribe(topics, on_assign=self._assign, on_revoke=self._revoke, on_lost=self._lost)
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _assign(self, consumer, partitions):
        self._call("on_assign", consumer, partitions)
        self.held |= {(each.topic, each.partition) for each in partitions}
        self.reported.append(("assign", {each.partition for each in partitions}))

    def _revoke(self, consumer, partitions):
        self._gone("revoke", consumer, partitions)

    def _lost(self, consumer, partitions):
        self._gone("lost", consumer, partitions)

    def _gone(self, name, consumer, partitions):
        try:
            self._call(f"on_{name}", consumer, partitions)
        finally:
            self.held -= {(each.topic, each.partition) for each in partitions}
            self.reported.append((name, {each.partition for each in partitions}))

    def _call(self, name, consumer, partitions):
        if callback := self._callbacks.get(name):
            callback(consumer, partitions)

    def _run(self):
        while not self._stop.is_set():
            try:
                message = self.consumer.poll(0.2)
            except Exception as error:  # noqa: BLE001 - the test checks it
                self.failures.append(error)
                continue
            if message is None:
                pass
            elif message.error() is not None:
                self.errors.append(message.error())
            else:
                where = (message.topic(), message.partition())
                if where not in self.held:
                    self.strays.append((where, message.offset()))
                self.records.append((message.partition(), message.offset()))
                self.on_record(self, message)
            if self._stalled.is_set():
                self._away.set()
                self._go_on.wait(PATIENCE)
                self._away.clear()

    def stall(self):
        """Stop polling until `go_on`; returns after the end of the current poll."""
        self._go_on.clear()
        self._stalled.set()
        assert self._away.wait(PATIENCE)

    def go_on(self):
        self._stalled.clear()
        self._go_on.set()

    @property
    def partitions(self):
        return {number for _, number in self.held}

    def stop(self):
        """End the thread without closing the consumer."""
        self.go_on()
        self._stop.set()
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()

    def close(self):
        self.stop()
        self.consumer.close()
