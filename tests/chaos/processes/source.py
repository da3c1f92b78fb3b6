"""Produces the records that the groups read."""

from __future__ import annotations

import contextlib
import threading

from confluent_kafka import Producer

from chaos.members.kinds import PARTITIONS
from support.observer.observing import PATIENCE_S

RECORDS_PER_S = 20


class Source:
    """Writes numbered records; ``written``: those that Kafka acknowledged, as (partition, offset).

    ``errors``: why writing ended before the run ended it.
    """

    def __init__(self, bootstrap, topic):
        self.written, self.errors = set(), []
        self.topic, self._stop = topic, threading.Event()
        settings = {"bootstrap.servers": bootstrap, "enable.idempotence": True, "log_level": 0}
        self._producer = Producer({**settings, "delivery.timeout.ms": 300_000})
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        """Stop writing."""
        self._stop.set()
        self._thread.join(PATIENCE_S)
        self._producer.flush(PATIENCE_S)

    def _run(self):
        try:
            self._write()
        except Exception as error:  # noqa: BLE001 - shown at the end
            self.errors.append(f"nothing more was written: {error!r}")

    def _write(self):
        number = 0
        while not self._stop.wait(1 / RECORDS_PER_S):
            number += 1
            with contextlib.suppress(BufferError):  # brokers are away: less is written then
                self._producer.produce(self.topic, str(number), partition=number % PARTITIONS, on_delivery=self._note)
            self._producer.poll(0)

    def _note(self, error, message):
        if error is not None and error.fatal():
            self.errors.append(f"nothing more was taken: {error.str()}")
        # The offset of a record that was accepted at its first attempt, but sent again, is unknown.
        if error is None and message.offset() is not None:
            self.written.add((message.partition(), message.offset()))
