"""Runs the only thread that feeds the tracker, so that the tracker's results do not depend on thread scheduling."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import structlog

from rebalance_agent.clock import Clock
from rebalance_agent.cluster.inbox import Inbox
from rebalance_agent.runtime.watch.event_sinks import EventSink, ObservationListener
from rebalance_agent.runtime.watch.pauses import FREE_S, Pauses
from rebalance_agent.tracking.groups import ObservationError
from rebalance_agent.tracking.observations import Observation, Tick
from rebalance_agent.tracking.tracker import Tracker
from rebalance_agent.tracking.views import GroupView

__all__ = ["BATCH_S", "JUDGED_AT_ONCE", "JUDGE_AFTER_S", "TICK_S", "Core"]

TICK_S = 0.25
"""Longest time between two ticks of the tracker, in seconds: a settled stall may be reported this late."""

BATCH_MAX = 500
"""Maximum number of observations between two updates of the changed views."""

BATCH_S = 0.05
"""Seconds of work between two updates of the changed views while many observations wait. A record of a classic group
takes one millisecond, a record of another group a tenth of a millisecond."""

RENEW_S = 0.05
"""Seconds of work for changed views between two turns of the tracker: while thousands of groups change, the tracker
gets half of the time, and the remaining views are built in the next round."""

JUDGED_AT_ONCE = 20
"""Maximum number of new groups in one batch whose first view is judged at once, which takes about 0.3 ms per group. If
thousands of groups appear at once, for example at startup, their first views are shown unjudged."""

REFRESH_S = 1.0
"""Seconds between calls of ``refresh`` while more than `JUDGED_AT_ONCE` groups change at once, for example at
startup: each group's text is then written once, not after each observation of the group."""

REFRESH_SHARE = 0.1
"""Share of a processor that ``refresh`` may take if a call takes more than `FREE_S`. Texts that one call did not write,
for example at startup, are written without a pause if no observations wait."""

JUDGE_AFTER_S = 2.0
"""Seconds from the last such batch until its groups are judged, `JUDGED_AT_ONCE` at a time: by then all are shown."""

JUDGE_PAUSE_S = 0.01
"""Seconds between rounds of judging: 10,000 groups are judged in about ten seconds; observations hardly wait."""

VIEW_SHARE = 0.1
"""Share of a processor that building one group's views and writing their text may take, if each takes more than
`FREE_S`: the text is written for all members of a group, even if only one member's record changed."""

JUDGE_SHARE = 0.05
"""Share of a processor for judging one group's assignment. Until the next judgement, views have the old quality."""


FAILURE_EVERY_S = 1.0
"""Shortest time (seconds) between two logged errors, since any client that can post events might cause one with each
event."""


@dataclass(eq=False)
class Core:
    """Passes observations from the inbox to the tracker, and events to the sinks; keeps a view of each group.

    ``refresh`` is called when views have changed, so that their text is written before a scrape. ``refresh`` returns
    whether texts are left to write; if so, it is called again.
    """

    tracker: Tracker
    inbox: Inbox
    clock: Clock
    sinks: Sequence[EventSink]
    listeners: Sequence[ObservationListener] = ()
    refresh: Callable[[], bool] = lambda: False

    def __post_init__(self) -> None:
        """Prepare the thread; nothing is taken from ``inbox`` before `start`."""
        self._lock = threading.Lock()
        self._views: dict[str, GroupView] = {}
        self._shown: tuple[GroupView, ...] | None = None
        self._unjudged: dict[str, None] = {}
        self._changed: dict[str, None] = {}
        self._unwritten: dict[str, int] = {}
        self._views_after = Pauses(self.clock, VIEW_SHARE)
        self._judged_late: dict[str, None] = {}
        self._judged_after = Pauses(self.clock, JUDGE_SHARE)
        self._writing: dict[str, int] = {}
        self._refreshed = self._refresh_at = self.clock.monotonic()
        self._judge_at = self.clock.monotonic()
        self._log = structlog.get_logger("rebalance_agent.core")
        self._failure_logged, self._unlogged = float("-inf"), 0
        self._thread = threading.Thread(target=self._run, name="core", daemon=True)

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def join(self, timeout: float) -> bool:
        """Wait at most ``timeout`` seconds until the closed inbox is processed; return whether it is processed."""
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def views(self) -> tuple[GroupView, ...]:
        """Return every group's view after the last batch; the same tuple until a view changes. Thread-safe."""
        with self._lock:
            if self._shown is None:
                self._shown = tuple(self._views.values())
            return self._shown

    def _run(self) -> None:
        ticked = self.clock.monotonic()
        while (batch := self.inbox.take(BATCH_MAX, self._patience_s())) or not self.inbox.closed:
            begun = self.clock.monotonic()
            for observation in batch:
                self._observe(observation)
                if (now := self.clock.monotonic()) - begun >= BATCH_S:
                    begun = now
                    self._renew()
            if self.tracker.behind or self.clock.monotonic() - ticked >= TICK_S:
                ticked = self.clock.monotonic()
                self._observe(Tick(self.clock.now_ms()))
            self._renew()
            self._judge()
            self._refresh()
        while self._due():
            self._renew()

    def _patience_s(self) -> float:
        if self.tracker.behind or self._writing or self._due():
            return 0
        return JUDGE_PAUSE_S if self._unjudged and self.clock.monotonic() >= self._judge_at else TICK_S

    def _observe(self, observation: Observation) -> None:
        try:
            try:
                events = self.tracker.observe(observation)
            except ObservationError as error:
                events = error.events
                self._failed(observation)
            for event in events:
                for sink in self.sinks:
                    sink.on_event(event)
            for listener in self.listeners:
                listener.on_observation(observation)
        except Exception:  # noqa: BLE001 - an error in one group must not end the watch of all others
            self._failed(observation)

    def _failed(self, observation: Observation) -> None:
        """Log the error that is being handled, unless another was logged within `FAILURE_EVERY_S`."""
        if (now := self.clock.monotonic()) - self._failure_logged >= FAILURE_EVERY_S:
            self._failure_logged = now
            self._log.exception("observation_failed", observation=type(observation).__name__, more=self._unlogged)
            self._unlogged = 0
        else:
            self._unlogged += 1

    def _renew(self) -> None:
        """Build changed views for `RENEW_S` seconds, half of it for groups whose views cost little."""
        self._changed |= dict.fromkeys(sorted(self.tracker.changed()))
        changed = self._due()
        new = [group for group in changed if group not in self._views]
        if len(new) > JUDGED_AT_ONCE:
            self._unjudged |= dict.fromkeys(new)
            self._judge_at = self.clock.monotonic() + JUDGE_AFTER_S
        late = self._judged_after.pausing()
        slow = self._views_after.costly | self._judged_after.costly
        costly, others = (
            [group for group in changed if group in slow],
            [group for group in changed if group not in slow],
        )
        begun = self.clock.monotonic()
        views: dict[str, GroupView | None] = {}
        for groups, until_s in (others, RENEW_S / 2 if costly else RENEW_S), (costly, RENEW_S):
            for group in self._in_time(groups, begun, until_s):
                del self._changed[group]
                if group in late:
                    self._judged_late[group] = None
                views[group] = self._view(group, judged=group not in self._unjudged and group not in late)
        self._show(views)

    def _due(self) -> list[str]:
        """Return the changed groups whose views may be built now, beginning with those that have waited longest."""
        pausing = self._views_after.pausing()
        return [group for group in self._changed if group not in pausing]

    def _judge(self) -> None:
        """Judge groups that are shown unjudged or with the quality of an earlier assignment, for `RENEW_S` seconds."""
        pausing = self._judged_after.pausing()
        groups = [group for group in self._judged_late if group not in pausing]
        if self._unjudged and self.clock.monotonic() >= self._judge_at:
            groups += itertools.islice(self._unjudged, JUDGED_AT_ONCE)
        begun = self.clock.monotonic()
        views: dict[str, GroupView | None] = {}
        for group in self._in_time(groups, begun, RENEW_S):
            self._judged_late.pop(group, None)
            self._unjudged.pop(group, None)
            views[group] = self._view(group, judged=True)
        self._show(views)

    def _in_time(self, groups: Iterable[str], begun: float, until_s: float) -> Iterator[str]:
        """Yield groups until the work for them has taken ``until_s`` seconds since ``begun``; at least one group."""
        for group in groups:
            yield group
            if self.clock.monotonic() - begun >= until_s:
                return

    def _show(self, views: Mapping[str, GroupView | None]) -> None:
        if not views:
            return
        self._unwritten |= {group: 1 + len(view.members) if view else 1 for group, view in views.items()}
        with self._lock:
            self._shown = None
            for group, view in views.items():
                if view is None:
                    self._views.pop(group, None)
                    self._views_after.forget(group)
                    self._judged_after.forget(group)
                else:
                    self._views[group] = view

    def _refresh(self) -> None:
        """Write the next texts of changed groups, unless it is too early or observations wait to be processed."""
        now = self.clock.monotonic()
        if now < self._refresh_at and (not self._writing or len(self.inbox)):
            return
        if not self._writing:
            if len(self._unwritten) > JUDGED_AT_ONCE and now - self._refreshed < REFRESH_S:
                return
            self._writing, self._unwritten = self._unwritten, {}
            self._refreshed = now
        if not self._writing:
            return
        begun, left = self.clock.thread_time(), False
        try:
            left = self.refresh()
        except Exception:  # noqa: BLE001 - a scrape writes the texts that are missing
            self._log.exception("refresh_failed")
        took, written = self.clock.thread_time() - begun, sum(self._writing.values())
        if took > FREE_S:
            self._refresh_at = now + min(REFRESH_S, took / REFRESH_SHARE)
            for group, count in self._writing.items():
                if group in self._views:
                    self._views_after.add(group, took * count / written)
        if not left:
            self._writing = {}

    def _view(self, group: str, *, judged: bool) -> GroupView | None:
        begun = self.clock.thread_time()
        try:
            return self.tracker.view(group, judged=judged)
        except Exception:  # noqa: BLE001 - no view is shown instead of an old one, and the other groups continue
            self._log.exception("view_failed", group=group)
            return None
        finally:
            (self._judged_after if judged else self._views_after).add(group, self.clock.thread_time() - begun)
