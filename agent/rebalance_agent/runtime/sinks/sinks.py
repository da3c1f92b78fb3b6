"""Where events go: any number of sinks, none of which can hold up or hurt another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Protocol

import structlog

from rebalance_agent.model.events import Event

__all__ = ["ClusterEvents", "Sink", "SinkCounts", "SinkFanout"]


class Sink(Protocol):
    """Takes events. `runtime.sinks.publisher.Publisher` is one: to Kafka."""

    def start(self) -> None:
        """Begin to send what is published. May be called with events waiting already."""
        ...

    def publish(self, event: Event, cluster_id: str) -> None:
        """Take an event. Returns at once; what cannot be kept is counted as dropped."""
        ...

    def close(self, timeout: float) -> None:
        """Send what waits, ``timeout`` seconds at most; the rest is counted as dropped."""
        ...


class SinkCounts(Protocol):
    """What is counted of every sink, from any thread. ``sink``: kafka, file or webhook."""

    def events_published(self, kind: str, sink: str, number: int = 1) -> None:
        """Events arrived: acknowledged, written, answered with success."""
        ...

    def events_dropped(self, where: str, number: int = 1) -> None:
        """Events were lost on the way to the sink ``where``."""
        ...


class SinkFanout:
    """Starts sinks, hands every event to every one of them in their order, and ends them together."""

    def __init__(self, sinks: Sequence[tuple[str, Sink]], dropped: Callable[[str, int], None]) -> None:
        """``sinks`` with their names; ``dropped(name, number)`` counts what a sink raised at."""
        self._sinks, self._dropped = tuple(sinks), dropped
        self._log = structlog.get_logger("rebalance_agent.sinks")

    def start(self) -> None:
        """Start all."""
        for _, sink in self._sinks:
            sink.start()

    def close(self, timeout: float) -> None:
        """Close all at the same time, so that ``timeout`` seconds are enough for all of them."""
        closers = [threading.Thread(target=sink.close, args=[timeout], daemon=True) for _, sink in self._sinks]
        for closer in closers:
            closer.start()
        for closer in closers:
            closer.join()

    def publish(self, event: Event, cluster_id: str) -> None:
        """Give an event to all; does not block and does not raise."""
        for name, sink in self._sinks:
            try:
                sink.publish(event, cluster_id)
            except Exception:  # noqa: BLE001
                # A sink's mistake is no reason for the others, or the tracker, to miss anything.
                self._dropped(name, 1)
                self._log.exception("sink_failed", sink=name, kind=event.KIND)


class ClusterEvents:
    """Gives the events of one cluster to fan-outs of sinks; an `EventSink` (``runtime.watch.event_sinks``)."""

    def __init__(self, cluster_id: str, fanouts: Sequence[SinkFanout]) -> None:
        """``fanouts`` get each event in their order."""
        self._cluster_id, self._fanouts = cluster_id, tuple(fanouts)

    def on_event(self, event: Event) -> None:
        """Publish an event; does not block and does not raise."""
        for fanout in self._fanouts:
            fanout.publish(event, self._cluster_id)
