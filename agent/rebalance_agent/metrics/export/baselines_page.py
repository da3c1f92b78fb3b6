"""Renders the baselines in /metrics: each group's normal stall at the current hour of the week."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable

from rebalance_agent.clock import Clock
from rebalance_agent.metrics.baseline_rows import STALL_BASELINE
from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.metrics.group_metric import Sample
from rebalance_agent.model.baseline import hour_of_week
from rebalance_agent.polls.baseline_reader import Baselines
from rebalance_agent.tracking.views import GroupView

__all__ = ["BaselinesPage"]


class BaselinesPage:
    """Renders baselines. Samples are rendered again when the hour, the groups or the baselines change. Thread-safe."""

    def __init__(
        self,
        baselines: Baselines,
        views: Callable[[], Iterable[GroupView]],
        clock: Clock,
        text: TextFormat | None = None,
    ) -> None:
        """``views`` returns a consistent snapshot of all exported groups, from any thread."""
        self._baselines = baselines
        self._views = views
        self._clock = clock
        self._format = text or TextFormat()
        self._headers = {dialect: self._format.header(STALL_BASELINE, dialect) for dialect in Dialect}
        self._lock = threading.Lock()
        self._written: tuple[object, bytes] = (None, b"")

    def text(self, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """Return the metric family with its header; empty if there is no sample."""
        version = self._baselines.version
        if not version:
            return b""
        now_ms, groups = self._clock.now_ms(), frozenset(view.group for view in self._views())
        # A baseline expires only after days, so it is enough to write the samples once an hour.
        state = (version, hour_of_week(now_ms), groups)
        with self._lock:
            written_for, samples = self._written
        if written_for != state:
            samples = self._format.samples(STALL_BASELINE, tuple(self._samples(groups, now_ms)))
            with self._lock:
                self._written = state, samples
        return self._headers[dialect] + samples if samples else b""

    def _samples(self, groups: Iterable[str], now_ms: int) -> Iterable[Sample]:
        for group in sorted(groups):
            baseline = self._baselines.at(group, now_ms)
            for percentile, seconds in baseline._asdict().items() if baseline else ():
                if seconds is not None:
                    yield Sample((group, percentile), seconds)
