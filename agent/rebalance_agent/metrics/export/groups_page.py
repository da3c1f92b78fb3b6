"""The groups' part of /metrics: text that is written when a group changes and only joined when it is scraped.

Both dialects are joined from the same texts; only those with exemplars are kept twice. A scrape writes a few groups at
most, and waits for nobody who writes more: while thousands change at once, some are a second or two behind.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import NamedTuple

from rebalance_agent.clock import Clock
from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.export.text import TextFormat, has_exemplars
from rebalance_agent.metrics.group_metric import SeriesLimits
from rebalance_agent.metrics.group_rows import GROUP_ROWS
from rebalance_agent.metrics.group_samples import group_samples, running_samples
from rebalance_agent.metrics.metric import Metric
from rebalance_agent.tracking.views import GroupView

__all__ = ["WRITTEN_BY_SCRAPE_MAX", "GroupsPage"]

WRITTEN_BY_SCRAPE_MAX = 200
"""Changed groups that a scrape writes itself, some 0.1 s of work; the others are left to `GroupsPage.refresh`."""


class _Cached(NamedTuple):
    """A group's texts in the order of `GROUP_ROWS`, as far as its view alone decides them, and which view that was.

    ``exemplified``: what OpenMetrics has instead, by the row's number. No dicts: there are thousands of these.
    """

    edition: tuple[int, int, bool]
    texts: tuple[bytes, ...]
    exemplified: tuple[tuple[int, bytes], ...]
    folded: int


class GroupsPage:
    """Renders the views that ``views`` hands out, in the order of their names. Safe to call from several threads."""

    def __init__(
        self,
        views: Callable[[], Iterable[GroupView]],
        clock: Clock,
        limits: SeriesLimits | None = None,
        text: TextFormat | None = None,
    ) -> None:
        """``views`` gives a consistent snapshot of all groups to show, from any thread.

        A tuple that is the same as the last time is not looked through again.
        """
        self._views = views
        self._written: Iterable[GroupView] | None = None
        self._clock = clock
        self._limits = limits or SeriesLimits()
        self._format = text or TextFormat()
        self._headers = {
            dialect: {metric: self._format.header(metric, dialect) for metric in GROUP_ROWS} for dialect in Dialect
        }
        self._lock = threading.Lock()
        self._writing = threading.Lock()
        self._groups: dict[str, _Cached] = {}

    @property
    def folded(self) -> int:
        """Label sets folded to keep within the limits, over all groups."""
        with self._lock:
            return sum(cached.folded for cached in self._groups.values())

    def refresh(self) -> None:
        """Bring the cached text up to date, so that the next scrape finds less to do."""
        with self._writing:
            self._renew()

    def text(self, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """The `pieces`, joined."""
        return b"".join(self.pieces(dialect))

    def pieces(self, dialect: Dialect = Dialect.PROMETHEUS) -> list[bytes]:
        """Complete families with headers; a metric without any sample is left out.

        Nothing is copied: of thousands of groups it would be tens of megabytes.
        """
        if self._writing.acquire(blocking=False):
            try:
                self._renew(WRITTEN_BY_SCRAPE_MAX)
            finally:
                self._writing.release()
        views = {view.group: view for view in self._views()}
        with self._lock:
            groups = [(views[group], self._groups[group]) for group in sorted(views.keys() & self._groups.keys())]
        running = self._running([view for view, _ in groups])
        openmetrics = dialect is Dialect.OPENMETRICS
        everyone = [_exemplified(each) if openmetrics and each.exemplified else each.texts for _, each in groups]
        parts: list[bytes] = []
        for number, (metric, header) in enumerate(self._headers[dialect].items()):
            samples = running.get(metric) or [texts[number] for texts in everyone]
            if any(samples):
                parts += (header, *samples)
        return parts

    def _renew(self, at_most: int | None = None) -> None:
        """Write what changed, in the order of names; forget who is gone. Only with ``_writing`` held."""
        everything = self._views()
        if everything is self._written:
            return
        views = {view.group: view for view in everything}
        with self._lock:
            for group in self._groups.keys() - views.keys():
                del self._groups[group]
        changed = sorted(group for group, view in views.items() if not self._current(view))
        for view in map(views.__getitem__, changed[:at_most]):
            written = self._write(view)
            with self._lock:
                self._groups[view.group] = written
        if isinstance(everything, tuple) and (at_most is None or len(changed) <= at_most):
            self._written = everything

    def _write(self, view: GroupView) -> _Cached:
        samples = group_samples(view, self._limits)
        rows = [(metric, samples.by_metric.get(metric, ())) for metric in GROUP_ROWS]
        texts = tuple(self._format.samples(metric, each) if each else b"" for metric, each in rows)
        exemplified = tuple(
            (number, self._format.samples(metric, each, Dialect.OPENMETRICS))
            for number, (metric, each) in enumerate(rows)
            if metric.buckets and has_exemplars(each)
        )
        return _Cached(view.edition, texts, exemplified, samples.folded)

    def _current(self, view: GroupView) -> bool:
        cached = self._groups.get(view.group)
        return cached is not None and cached.edition == view.edition

    def _running(self, views: Iterable[GroupView]) -> dict[Metric, list[bytes]]:
        now_ms = self._clock.now_ms()
        lines: dict[Metric, list[bytes]] = {}
        for view in views:
            for metric, sample in running_samples(view, now_ms):
                lines.setdefault(metric, []).append(self._format.samples(metric, (sample,)))
        return lines


def _exemplified(cached: _Cached) -> list[bytes]:
    texts = list(cached.texts)
    for number, text in cached.exemplified:
        texts[number] = text
    return texts
