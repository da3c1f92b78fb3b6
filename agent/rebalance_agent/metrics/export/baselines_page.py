"""Renders the baselines in /metrics: each group's normal stall at the current hour of the week, and its savings."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping

from rebalance_agent.clock import Clock
from rebalance_agent.metrics.baseline_rows import ADVICE_OPEN, ADVICE_SAVED, BASELINE_ROWS, STALL_BASELINE
from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.metrics.group_metric import Sample
from rebalance_agent.metrics.metric import Metric
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
        self._headers = {
            (metric, dialect): self._format.header(metric, dialect) for metric in BASELINE_ROWS for dialect in Dialect
        }
        self._lock = threading.Lock()
        self._written: tuple[object, Mapping[Metric, bytes]] = (None, {})

    def text(self, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """Return the metric families that have samples, with their headers."""
        version = self._baselines.version
        if not version:
            return b""
        now_ms, groups = self._clock.now_ms(), frozenset(view.group for view in self._views())
        # A baseline expires only after days, so it is enough to write the samples once an hour.
        state = (version, hour_of_week(now_ms), groups)
        with self._lock:
            written_for, families = self._written
        if written_for != state:
            families = self._families(sorted(groups), now_ms)
            with self._lock:
                self._written = state, families
        return b"".join(self._headers[metric, dialect] + text for metric, text in families.items() if text)

    def _families(self, groups: Iterable[str], now_ms: int) -> Mapping[Metric, bytes]:
        samples: dict[Metric, list[Sample]] = {metric: [] for metric in BASELINE_ROWS}
        for group in groups:
            for metric, labels, value in self._values(group, now_ms):
                samples[metric].append(Sample((group, *labels), value))
        return {metric: self._format.samples(metric, tuple(found)) for metric, found in samples.items()}

    def _values(self, group: str, now_ms: int) -> Iterator[tuple[Metric, tuple[str, ...], float]]:
        baseline = self._baselines.at(group, now_ms)
        for percentile, seconds in baseline._asdict().items() if baseline else ():
            if seconds is not None:
                yield STALL_BASELINE, (percentile,), seconds
        if savings := self._baselines.savings(group, now_ms):
            if savings.measured:
                yield ADVICE_SAVED, ("measured",), savings.realised
                yield ADVICE_SAVED, ("predicted",), savings.predicted
            if savings.open_predicted:
                yield ADVICE_OPEN, (), savings.open_predicted
