"""The baselines' part of /metrics: what is normal at this hour, for the groups that are reported."""

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
    """Samples are written when the hour, the groups or their baselines change, and else only handed out."""

    def __init__(
        self,
        baselines: Baselines,
        views: Callable[[], Iterable[GroupView]],
        clock: Clock,
        text: TextFormat | None = None,
    ) -> None:
        """``views`` gives a consistent snapshot of all groups to show, from any thread."""
        self._baselines = baselines
        self._views = views
        self._clock = clock
        self._format = text or TextFormat()
        self._headers = {dialect: self._format.header(STALL_BASELINE, dialect) for dialect in Dialect}
        self._lock = threading.Lock()
        self._written: tuple[object, bytes] = (None, b"")

    def text(self, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """The complete family with its header; nothing where there is no sample."""
        version = self._baselines.version
        if not version:
            return b""
        now_ms, groups = self._clock.now_ms(), frozenset(view.group for view in self._views())
        # A baseline's age counts in days: that it is told once an hour at least is soon enough to see it.
        state = (version, hour_of_week(now_ms), groups)
        with self._lock:
            written_for, samples = self._written
        if written_for != state:
            samples = self._format.samples(STALL_BASELINE, self._samples(groups, now_ms))
            with self._lock:
                self._written = state, samples
        return self._headers[dialect] + samples if samples else b""

    def _samples(self, groups: Iterable[str], now_ms: int) -> Iterable[Sample]:
        for group in sorted(groups):
            baseline = self._baselines.at(group, now_ms)
            for percentile, seconds in baseline._asdict().items() if baseline else ():
                if seconds is not None:
                    yield Sample((group, percentile), seconds)
