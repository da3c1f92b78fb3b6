"""Posted events on their way to Kafka: what they do not know themselves is added, and they wait for the cluster."""

from __future__ import annotations

import dataclasses
import threading
from collections import deque
from collections.abc import Callable, Iterable

from rebalance_agent.model.events import AssignEvent, Event, MemberEvent, Workload

__all__ = ["HELD_MAX", "Relay"]

HELD_MAX = 10_000
"""Events kept until the cluster answers: days of one pod's rebalances."""


class Relay:
    """Thread-safe; `put` never blocks. Before `connect` the newest `HELD_MAX` events are held."""

    def __init__(self, where: Workload, dropped: Callable[[int], None]) -> None:
        """``where`` is set on events that do not say it themselves."""
        self._where = None if where == Workload() else where
        self._dropped = dropped
        self._lock = threading.Lock()
        self._held: deque[Event] = deque()
        self._cluster_id = ""
        self._publish: Callable[[Event, str], None] | None = None

    def put(self, events: Iterable[Event]) -> None:
        """Pass events on, or hold them."""
        with self._lock:
            for event in events:
                self._pass_on(event)

    def connect(self, cluster_id: str, publish: Callable[[Event, str], None]) -> None:
        """From now on (and for what was held) call ``publish(event, cluster_id)``, which must not block."""
        with self._lock:
            self._cluster_id, self._publish = cluster_id, publish
            held, self._held = self._held, deque()
            for event in held:
                self._pass_on(event)

    def _pass_on(self, event: Event) -> None:
        if self._publish:
            self._publish(self._complete(event), self._cluster_id)
            return
        self._held.append(event)
        if len(self._held) > HELD_MAX:
            self._held.popleft()
            self._dropped(1)

    def _complete(self, event: Event) -> Event:
        if not isinstance(event, MemberEvent | AssignEvent):
            return event
        return dataclasses.replace(
            event, cluster_id=event.cluster_id or self._cluster_id, where=event.where or self._where
        )
