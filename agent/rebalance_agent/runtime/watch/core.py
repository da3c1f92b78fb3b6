"""The one thread that feeds the tracker: what it concludes does not depend on how threads happen to run."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import Protocol

import structlog

from rebalance_agent.clock import Clock
from rebalance_agent.cluster.inbox import Inbox
from rebalance_agent.model.events import Event
from rebalance_agent.tracking.observations import Observation, Tick
from rebalance_agent.tracking.views import GroupView

__all__ = ["JUDGED_AT_ONCE", "JUDGE_AFTER_S", "Core", "Tracking"]

TICK_S = 0.1
"""How late a settled stall may show."""

BATCH_MAX = 500
"""Observations before the views of the groups that changed are renewed: some milliseconds of work."""

JUDGED_AT_ONCE = 20
"""Groups of one batch that are judged with their first view, some 0.3 ms each. Where thousands come at once, as at a
start, they are shown first."""

JUDGE_AFTER_S = 2.0
"""How long after the last of such a crowd they are judged, as many at a time: whoever waits for them is shown them by
then."""

JUDGE_PAUSE_S = 0.01
"""Between two times: 10,000 groups are judged within some ten seconds, and what comes meanwhile hardly waits."""


class Tracking(Protocol):
    """What is used of `tracking.tracker.Tracker`."""

    @property
    def behind(self) -> bool:
        """Whether it wants to be told the time again soon."""
        ...

    def observe(self, observation: Observation) -> tuple[Event, ...]:
        """Take in one observation."""
        ...

    def view(self, group: str, *, judged: bool = True) -> GroupView | None:
        """A group now; None if it is gone. Not ``judged``: perhaps without what costs most of the work."""
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
        self._shown: tuple[GroupView, ...] | None = None
        self._unjudged: dict[str, None] = {}
        self._judge_at = clock.monotonic()
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
        """Every group as of the last batch; the same tuple until one changes. From any thread."""
        with self._lock:
            if self._shown is None:
                self._shown = tuple(self._views.values())
            return self._shown

    def _run(self) -> None:
        ticked = self._clock.monotonic()
        while (batch := self._inbox.take(BATCH_MAX, self._patience_s())) or not self._inbox.closed:
            for observation in batch:
                self._observe(observation)
            if self._tracker.behind or self._clock.monotonic() - ticked >= TICK_S:
                ticked = self._clock.monotonic()
                self._observe(Tick(self._clock.now_ms()))
            self._renew()
            self._judge()

    def _patience_s(self) -> float:
        if self._tracker.behind:
            return 0
        return JUDGE_PAUSE_S if self._unjudged and self._clock.monotonic() >= self._judge_at else TICK_S

    def _observe(self, observation: Observation) -> None:
        try:
            for event in self._tracker.observe(observation):
                self._publish(event)
            self._hear(observation)
        except Exception:  # noqa: BLE001
            # One group's oddity must not end the watch over all others.
            self._log.exception("observation_failed", observation=type(observation).__name__)

    def _renew(self) -> None:
        changed = sorted(self._tracker.changed())
        new = [group for group in changed if group not in self._views]
        if len(new) > JUDGED_AT_ONCE:
            self._unjudged |= dict.fromkeys(new)
            self._judge_at = self._clock.monotonic() + JUDGE_AFTER_S
        self._show({group: self._view(group, judged=group not in self._unjudged) for group in changed})

    def _judge(self) -> None:
        """Judge some of those that were shown without it."""
        if self._unjudged and self._clock.monotonic() >= self._judge_at:
            some = list(itertools.islice(self._unjudged, JUDGED_AT_ONCE))
            for group in some:
                del self._unjudged[group]
            self._show({group: self._view(group, judged=True) for group in some})

    def _show(self, views: Mapping[str, GroupView | None]) -> None:
        if not views:
            return
        with self._lock:
            self._shown = None
            for group, view in views.items():
                if view is None:
                    self._views.pop(group, None)
                else:
                    self._views[group] = view

    def _view(self, group: str, *, judged: bool) -> GroupView | None:
        try:
            return self._tracker.view(group, judged=judged)
        except Exception:  # noqa: BLE001
            # It shows nothing rather than something old, and the other groups go on.
            self._log.exception("view_failed", group=group)
            return None
