"""A producer that is replaced after a fatal error, and reports each record that Kafka may not have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from rebalance_agent.clock import Clock
from rebalance_agent.cluster.agent_topics import (
    REPLACE_WAIT_MAX_S,
    REPLACE_WAIT_S,
    SILENT,
    flush,
)
from rebalance_agent.cluster.backoff import Backoff

__all__ = ["SnapshotProducer"]


class SnapshotProducer:
    """Sends records. Used by one thread; never blocks, and reports Kafka's errors to ``failed`` instead of raising."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        clock: Clock,
        failed: Callable[[str], None],
        make: Callable[[dict[str, Any]], Producer] | None = None,
        written: Callable[[int, int], None] = lambda _partition, _offset: None,
    ) -> None:
        """``failed`` is called with the reason why a record was not queued, or why there is no producer for now.

        ``written`` is called with the partition and the offset of each record that Kafka has.
        """
        self._settings = {**settings, "logger": SILENT}
        self._clock = clock
        self._failed, self._written = failed, written
        self._make = make or Producer
        self._backoff = Backoff(REPLACE_WAIT_S, REPLACE_WAIT_MAX_S)
        self._reopen_at = float("-inf")
        self._sent = 0
        self._callbacks: dict[int, Callable[[str | None], None]] = {}
        self._producer: Producer | None = None
        self._open()

    @property
    def working(self) -> bool:
        """Whether there is a producer; otherwise `serve` creates one after a back-off."""
        return self._producer is not None

    def send(
        self, topic: str, partition: int, key: bytes, value: bytes | None, on_done: Callable[[str | None], None]
    ) -> bool:
        """Queue a record; return False if that is not possible now.

        ``on_done`` is called by `serve` or `close`: with None when Kafka has the record, otherwise with the reason why
        it was lost. Records that are still queued after `close` may or may not be in Kafka.
        """
        if self._producer is None:
            return False
        number = self._sent
        try:
            self._producer.produce(topic, key=key, value=value, partition=partition, on_delivery=self._delivery(number))
        except BufferError:
            return False
        except KafkaException as error:
            self._failed(_reason(error))
            return False
        self._sent += 1
        self._callbacks[number] = on_done
        return True

    def serve(self) -> None:
        """Run the callbacks of acknowledged and lost records; replace a failed producer."""
        if self._producer is None:
            if self._clock.monotonic() >= self._reopen_at:
                self._open()
            return
        try:
            self._producer.poll(0)
        except KafkaException as error:
            # poll() raises fatal errors. A producer that lost its sequence, or that may not write, cannot continue; a
            # new one can, once it has the permission.
            self._give_up(self._producer, _reason(error))

    def close(self, timeout: float) -> None:
        """Send the queued records, waiting at most ``timeout`` seconds."""
        if self._producer is not None:
            flush(self._producer, timeout)

    def _open(self) -> None:
        try:
            self._producer = self._make(self._settings)
        except KafkaException as error:  # such as a missing certificate file
            self._wait(_reason(error))

    def _give_up(self, producer: Producer, reason: str) -> None:
        self._producer = None
        self._wait(reason)
        flush(producer, 0)
        # librdkafka runs no callback for the records that it still had.
        left, self._callbacks = self._callbacks, {}
        for on_done in left.values():
            on_done(reason)

    def _wait(self, reason: str) -> None:
        self._failed(reason)
        self._reopen_at = self._clock.monotonic() + self._backoff.next()

    def _delivery(self, number: int) -> Callable[[KafkaError | None, Message], None]:
        def delivered(error: KafkaError | None, message: Message) -> None:
            on_done = self._callbacks.pop(number, None)
            if on_done is None:
                return  # the record was lost with its producer, and reported then
            if error is None:
                self._backoff.reset()
                self._written(message.partition() or 0, message.offset() or 0)
                on_done(None)
            else:
                self._failed(error.str())
                on_done(error.str())

        return delivered


def _reason(error: KafkaException) -> str:
    cause = error.args[0]
    return cause.str() if isinstance(cause, KafkaError) else str(cause)
