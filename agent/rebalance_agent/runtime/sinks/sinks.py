"""Defines the interface of sinks, and the fan-out of events to several sinks; no sink can delay or break another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Protocol

import structlog

from rebalance_agent.model.events import Event

__all__ = ["ClusterEvents", "Sink", "SinkFanout"]


class Sink(Protocol):
    """Publishes events to one target, such as Kafka (`runtime.sinks.publisher.Publisher`)."""

    def start(self) -> None:
        """Start sending events, including those that were published before this call."""
        ...

    def publish(self, event: Event, cluster_id: str) -> None:
        """Queue an event and return at once; events that do not fit are counted as dropped."""
        ...

    def close(self, timeout: float) -> None:
        """Send waiting events for at most ``timeout`` seconds; the events left then are counted as dropped."""
        ...


class SinkFanout:
    """Handles several sinks as one: each event goes to every sink, in order; all sinks start and close together."""

    def __init__(self, sinks: Sequence[tuple[str, Sink]], dropped: Callable[[str, int], None]) -> None:
        """``sinks``: pairs of name and sink; ``dropped(name, number)`` counts events for which a sink raised."""
        self._sinks, self._dropped = tuple(sinks), dropped
        self._log = structlog.get_logger("rebalance_agent.sinks")

    def start(self) -> None:
        """Start all sinks."""
        for _, sink in self._sinks:
            sink.start()

    def close(self, timeout: float) -> None:
        """Close all sinks at the same time, within ``timeout`` seconds."""
        closers = [threading.Thread(target=sink.close, args=[timeout], daemon=True) for _, sink in self._sinks]
        for closer in closers:
            closer.start()
        for closer in closers:
            closer.join()

    def publish(self, event: Event, cluster_id: str) -> None:
        """Publish an event to all sinks; does not block and does not raise."""
        for name, sink in self._sinks:
            try:
                sink.publish(event, cluster_id)
            except Exception:  # noqa: BLE001 - an error in one sink must not affect the other sinks or the tracker
                self._dropped(name, 1)
                self._log.exception("sink_failed", sink=name, kind=event.KIND)


class ClusterEvents:
    """Passes the events of one cluster to fan-outs of sinks; an `EventSink` (``runtime.watch.event_sinks``)."""

    def __init__(self, cluster_id: str, fanouts: Sequence[SinkFanout]) -> None:
        """``fanouts`` get each event one after another, in this order."""
        self._cluster_id, self._fanouts = cluster_id, tuple(fanouts)

    def on_event(self, event: Event) -> None:
        """Publish an event; does not block and does not raise."""
        for fanout in self._fanouts:
            fanout.publish(event, self._cluster_id)
