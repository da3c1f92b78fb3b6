"""A sink with a bounded queue and its own thread, for deliveries that block, such as to a disk or another server."""

from __future__ import annotations

import threading
from collections import Counter, deque
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import structlog

from rebalance_agent.errors import RebalanceAgentError
from rebalance_agent.metrics.export.agent_metrics import AgentMetrics
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import Event
from rebalance_agent.runtime.sinks.given_up import GivenUp

__all__ = ["BATCH_BYTES_MAX", "BATCH_MAX", "QUEUE_BYTES_MAX", "QUEUE_MAX", "Deliver", "DeliveryError", "QueuedSink"]

QUEUE_MAX = 10_000
QUEUE_BYTES_MAX = 32 * 1024 * 1024
"""Maximum number of waiting events, and of their lines' bytes: some hours of rebalances of a few hundred groups."""

BATCH_MAX = 500
BATCH_BYTES_MAX = 1024 * 1024
"""Maximum number of events, and of bytes, in one delivery; an event with more bytes is delivered alone."""

ABANDON_S = 1.0
"""Longest wait at stop, in seconds, for a delivery to detect that it was given up."""


class DeliveryError(RebalanceAgentError):
    """A batch was given up before all its lines were delivered. ``delivered``: the indexes of the delivered lines."""

    def __init__(self, reason: str, delivered: Sequence[int] = ()) -> None:
        """``reason`` is for the log."""
        super().__init__(reason)
        self.delivered = delivered


class Deliver(Protocol):
    """The last step of a queued sink, called from one thread only."""

    def deliver(self, lines: Sequence[bytes], given_up: threading.Event) -> None:
        """Deliver lines of JSON without line ends. Must return soon after ``given_up`` is set.

        A pause between two attempts is ``given_up.wait(seconds)``, which ends when the sink begins to close.

        Raises:
            DeliveryError: some or all of the lines were not delivered.
        """
        ...

    def close(self) -> None:
        """Release resources; `deliver` is no longer called."""
        ...


class _Line(NamedTuple):
    kind: str
    text: bytes


class QueuedSink:
    """A `Sink` that holds the newest events until they are delivered. Thread-safe."""

    def __init__(self, name: str, target: Deliver, counts: AgentMetrics) -> None:
        """``name``: the sink's name in metrics and logs."""
        self._name, self._target, self._counts = name, target, counts
        self._log = structlog.get_logger("rebalance_agent.sinks").bind(sink=name)
        self._changed = threading.Condition()
        self._lines: deque[_Line] = deque()
        self._bytes = 0
        self._in_hand = self._lost_at_stop = 0
        self._closing = self._abandoned = False
        self._given_up = GivenUp()
        self._failing = False
        self._thread = threading.Thread(target=self._run, name=f"sink-{name}", daemon=True)

    def start(self) -> None:
        """Start delivering."""
        self._thread.start()

    def publish(self, event: Event, cluster_id: str) -> None:  # noqa: ARG002 - it is in the event, too
        """Queue an event; if the queue is full, the oldest events are dropped."""
        line = _Line(event.KIND, json_line(event))
        dropped = 0
        with self._changed:
            if self._closing:
                dropped = 1
            else:
                self._lines.append(line)
                self._bytes += len(line.text)
            while len(self._lines) > QUEUE_MAX or self._bytes > QUEUE_BYTES_MAX:
                self._bytes -= len(self._lines.popleft().text)
                dropped += 1
            self._changed.notify()
        if dropped:
            self._lost(dropped, "too many events are pending, or the sink is closed")

    def close(self, timeout: float) -> None:
        """Deliver waiting events for at most ``timeout`` seconds; the events left then are counted as dropped."""
        with self._changed:
            self._closing = True
            self._changed.notify()
        self._given_up.hurry()
        self._thread.join(timeout)
        self._given_up.set()
        with self._changed:
            left = len(self._lines)
            self._lines.clear()
        self._thread.join(ABANDON_S)
        with self._changed:
            self._abandoned = True
            left += self._in_hand
        if left:
            self._counts.events_dropped(self._name, left)
        if lost := left + self._lost_at_stop:
            self._log.warning("events_lost_at_stop", events=lost)

    def _run(self) -> None:
        while batch := self._take():
            delivered, reason = self._deliver(batch)
            with self._changed:
                if self._abandoned:  # `close` has counted the batch as dropped
                    break
                self._in_hand = 0
            self._delivered(delivered)
            if reason:
                self._lost(len(batch) - len(delivered), reason)
            else:
                self._recovered()
        self._target.close()

    def _deliver(self, batch: Sequence[_Line]) -> tuple[Sequence[_Line], str]:
        """Return the delivered lines, and why the delivery failed, if it did."""
        try:
            self._target.deliver([line.text for line in batch], self._given_up)
        except DeliveryError as error:
            return [batch[index] for index in error.delivered], str(error) or repr(error)
        except Exception as error:  # noqa: BLE001 - the thread must continue: the next batch may be delivered
            return [], repr(error)
        return batch, ""

    def _take(self) -> list[_Line]:
        """Return the next batch, which is empty when the sink is closed and its queue is empty."""
        with self._changed:
            self._changed.wait_for(lambda: self._lines or self._closing)
            batch: list[_Line] = []
            size = 0
            while self._lines and len(batch) < BATCH_MAX:
                size += len(self._lines[0].text) + 1
                if batch and size > BATCH_BYTES_MAX:
                    break
                batch.append(self._lines.popleft())
                self._bytes -= len(batch[-1].text)
            self._in_hand = len(batch)
            return batch

    def _delivered(self, batch: Sequence[_Line]) -> None:
        for kind, number in Counter(line.kind for line in batch).items():
            self._counts.events_published(kind, self._name, number)

    def _recovered(self) -> None:
        if self._failing:
            self._failing = False
            self._log.info("events_delivered_again")

    def _lost(self, number: int, reason: str) -> None:
        if number:
            self._counts.events_dropped(self._name, number)
        if self._given_up.is_set():
            self._lost_at_stop += number
        elif not self._failing:
            self._failing = True
            self._log.warning("events_not_delivered", reason=reason)
