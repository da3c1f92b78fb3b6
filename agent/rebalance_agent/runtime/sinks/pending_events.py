"""Holds posted events until the cluster is known, then adds the cluster's id and the pod, and passes them to sinks."""

from __future__ import annotations

import dataclasses
import json
import threading
from collections import deque
from collections.abc import Callable, Iterable

import structlog

from rebalance_agent.model.event_json import event_from_json, json_line
from rebalance_agent.model.events import Event, Reported
from rebalance_agent.model.reported.workload import Workload

__all__ = ["HELD_BYTES_MAX", "HELD_MAX", "PendingEvents"]

HELD_MAX = 10_000
"""Maximum number of events to hold until the cluster answers: those of several days of one pod's rebalances."""

HELD_BYTES_MAX = 32 * 1024 * 1024
"""Maximum number of bytes of the held events' lines, as in the publisher. An event object may take a thousand times as
many."""


class PendingEvents:
    """Holds the newest events until `connect`, within bounds, and passes later events on at once. Thread-safe.

    `put` never blocks. Every event is passed on, or counted as dropped.
    """

    def __init__(self, where: Workload, dropped: Callable[[int], None]) -> None:
        """``where`` is set on events that lack it; ``dropped(number)`` counts lost events."""
        self._where = None if where == Workload() else where
        self._dropped = dropped
        self._lock = threading.Lock()
        self._held: deque[bytes] = deque()
        self._held_bytes = 0
        self._cluster_id = ""
        self._publish: Callable[[Event, str], None] | None = None
        self._closed = False
        self._log = structlog.get_logger("rebalance_agent.relay")

    def put(self, events: Iterable[Event]) -> None:
        """Pass ``events`` on, or hold them."""
        with self._lock:
            for event in events:
                self._pass_on(event)

    def connect(self, cluster_id: str, publish: Callable[[Event, str], None]) -> None:
        """Call ``publish(event, cluster_id)`` for every held event and every later event; ``publish`` must not block.

        ``cluster_id`` may be empty; a later call can then supply it.
        """
        with self._lock:
            self._cluster_id, self._publish = cluster_id or self._cluster_id, publish
            self._release()

    def close(self) -> None:
        """Drop held and later events. The loss of held events is counted and logged."""
        with self._lock:
            lost = len(self._held)
            self._held.clear()
            self._closed = True
        if lost:
            self._dropped(lost)
            self._log.warning("events_lost_at_stop", events=lost, sink="kafka", reason="the cluster never responded")

    def _release(self) -> None:
        while self._held:
            self._pass_on(event_from_json(json.loads(self._held.popleft())))
        self._held_bytes = 0

    def _pass_on(self, event: Event) -> None:
        if self._closed:
            self._dropped(1)
            return
        if self._publish:
            self._publish(self._complete(event), self._cluster_id)
            return
        line = json_line(event)
        self._held.append(line)
        self._held_bytes += len(line)
        while len(self._held) > HELD_MAX or self._held_bytes > HELD_BYTES_MAX:
            self._held_bytes -= len(self._held.popleft())
            self._dropped(1)

    def _complete(self, event: Event) -> Event:
        if not isinstance(event, Reported):
            return event
        return dataclasses.replace(
            event, cluster_id=event.cluster_id or self._cluster_id, where=event.where or self._where
        )
