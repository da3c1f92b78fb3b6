"""The one thread that feeds the tracker: what it concludes does not depend on how threads happen to run."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Protocol

import structlog

from rebalance_agent.clock import Clock
from rebalance_agent.collectors.inbox import Inbox
from rebalance_agent.model.events import Event
from rebalance_agent.rebalances.observations import Observation, Tick
from rebalance_agent.rebalances.views import GroupView

__all__ = ["Core", "Tracking"]

TICK_S = 0.1
"""How late a settled stall may show."""

BATCH_MAX = 500
"""Observations before the views of the groups that changed are renewed: some milliseconds of work."""


class Tracking(Protocol):
    """What is used of `rebalances.tracker.Tracker`."""

    @property
    def behind(self) -> bool:
        """Whether it wants to be told the time again soon."""
        ...

    def observe(self, observation: Observation) -> tuple[Event, ...]:
        """Take in one observation."""
        ...

    def view(self, group: str) -> GroupView | None:
        """A group now; None if it is gone."""
        ...

    def changed(self) -> Iterable[str]:
        """Groups whose view changed since the last call."""
        ...


class Core:
    """Takes observations from ``inbox`` in order, hands events to ``publish``, and keeps a view of every group."""

    def __init__(
        self,
        tracker: Tracking,
        inbox: Inbox,
        clock: Clock,
        publish: Callable[[Event], None],
        hear: Callable[[Observation], None] = lambda _observation: None,
    ) -> None:
        """``publish`` must not block; ``hear`` is told of every observation after the tracker."""
        self._tracker = tracker
        self._inbox = inbox
        self._clock = clock
        self._publish = publish
        self._hear = hear
        self._lock = threading.Lock()
        self._views: dict[str, GroupView] = {}
        self._log = structlog.get_logger("rebalance_agent.core")
        self._thread = threading.Thread(target=self._run, name="core", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def join(self, timeout: float) -> bool:
        """Wait ``timeout`` seconds at most until all that the closed inbox still holds is worked off; whether it is."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def views(self) -> tuple[GroupView, ...]:
        """Every group as of the last batch. From any thread."""
        with self._lock:
            return tuple(self._views.values())

    def _run(self) -> None:
        ticked = self._clock.monotonic()
        while (batch := self._inbox.take(BATCH_MAX, 0 if self._tracker.behind else TICK_S)) or not self._inbox.closed:
            for observation in batch:
                self._observe(observation)
            if self._tracker.behind or self._clock.monotonic() - ticked >= TICK_S:
                ticked = self._clock.monotonic()
                self._observe(Tick(self._clock.now_ms()))
            self._renew()

    def _observe(self, observation: Observation) -> None:
        try:
            for event in self._tracker.observe(observation):
                self._publish(event)
            self._hear(observation)
        except Exception:  # noqa: BLE001
            # One group's oddity must not end the watch over all others.
            self._log.exception("observation_failed", observation=type(observation).__name__)

    def _renew(self) -> None:
        views = {group: self._view(group) for group in sorted(self._tracker.changed())}
        if not views:
            return
        with self._lock:
            for group, view in views.items():
                if view is None:
                    self._views.pop(group, None)
                else:
                    self._views[group] = view

    def _view(self, group: str) -> GroupView | None:
        try:
            return self._tracker.view(group)
        except Exception:  # noqa: BLE001
            # It shows nothing rather than something old, and the other groups go on.
            self._log.exception("view_failed", group=group)
            return None
