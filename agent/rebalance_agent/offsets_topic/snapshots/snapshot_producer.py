"""A producer that is replaced when it can go on no more, and that forgets no record which Kafka may not have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError, KafkaException

from rebalance_agent.clock import Clock
from rebalance_agent.cluster.agent_topics import (
    REPLACE_WAIT_MAX_S,
    REPLACE_WAIT_S,
    SILENT,
    KafkaProducer,
    confluent_producer,
    flush,
)
from rebalance_agent.cluster.backoff import Backoff

__all__ = ["SnapshotProducer"]


class SnapshotProducer:
    """Used by one thread. Never waits, and never raises what Kafka or librdkafka say: that goes to ``failed``."""

    def __init__(
        self,
        settings: Mapping[str, Any],
        clock: Clock,
        failed: Callable[[str], None],
        make: Callable[[dict[str, Any]], KafkaProducer] | None = None,
    ) -> None:
        """``failed`` is on_done why a record was not taken, or why there is no producer for now."""
        self._settings = {**settings, "logger": SILENT}
        self._clock = clock
        self._failed = failed
        self._make = make or confluent_producer
        self._backoff = Backoff(REPLACE_WAIT_S, REPLACE_WAIT_MAX_S)
        self._reopen_at = float("-inf")
        self._sent = 0
        self._callbacks: dict[int, Callable[[str | None], None]] = {}
        self._producer: KafkaProducer | None = None
        self._open()

    @property
    def working(self) -> bool:
        """Whether there is one to send with; else `serve` makes one in time."""
        return self._producer is not None

    def send(
        self, topic: str, partition: int, key: bytes, value: bytes | None, on_done: Callable[[str | None], None]
    ) -> bool:
        """Queue a record; False: not now. ``on_done`` hears, from `serve` or `close`, why it was lost; None: Kafka has it.

        What was queued at `close` and is not on_done by then may be there or not.
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
        """Take what Kafka has acknowledged."""
        if self._producer is None:
            if self._clock.monotonic() >= self._reopen_at:
                self._open()
            return
        try:
            self._producer.poll(0)
        except KafkaException as error:
            # Fatal errors come out of poll(). A producer that lost its sequence, or that may not write, can do no
            # more; a new one can, once the right is there.
            self._give_up(self._producer, _reason(error))

    def close(self, timeout: float) -> None:
        """Send what waits, ``timeout`` seconds at most."""
        if self._producer is not None:
            flush(self._producer, timeout)

    def _open(self) -> None:
        try:
            self._producer = self._make(self._settings)
        except KafkaException as error:  # a certificate's file is away, for one
            self._wait(_reason(error))

    def _give_up(self, producer: KafkaProducer, reason: str) -> None:
        self._producer = None
        self._wait(reason)
        flush(producer, 0)
        # librdkafka tells nothing more of what it still held.
        left, self._callbacks = self._callbacks, {}
        for on_done in left.values():
            on_done(reason)

    def _wait(self, reason: str) -> None:
        self._failed(reason)
        self._reopen_at = self._clock.monotonic() + self._backoff.next()

    def _delivery(self, number: int) -> Callable[[KafkaError | None, object], None]:
        def delivered(error: KafkaError | None, _message: object) -> None:
            on_done = self._callbacks.pop(number, None)
            if on_done is None:
                return  # it was given up with its producer
            if error is None:
                self._backoff.reset()
                on_done(None)
            else:
                self._failed(error.str())
                on_done(error.str())

        return delivered


def _reason(error: KafkaException) -> str:
    cause = error.args[0]
    return cause.str() if isinstance(cause, KafkaError) else str(cause)
