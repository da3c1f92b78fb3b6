"""The groups' part of /metrics: text that is written when a group changes and only joined when it is scraped.

Both dialects are joined from the same texts; only those with exemplars are kept twice.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import NamedTuple

from rebalance_agent.clock import Clock
from rebalance_agent.exposition.dialects import Dialect
from rebalance_agent.exposition.text import TextFormat, has_exemplars
from rebalance_agent.metrics.group_rows import GROUP_ROWS
from rebalance_agent.metrics.group_samples import SeriesLimits, group_samples, running_samples
from rebalance_agent.metrics.metric import Metric
from rebalance_agent.rebalances.views import GroupView

__all__ = ["GroupsPage"]


class _Cached(NamedTuple):
    """A group's text by metric, as far as its view alone decides it, and which view that was.

    ``exemplified``: the texts that OpenMetrics has instead of those in ``texts``.
    """

    version: tuple[int, int]
    texts: dict[Metric, bytes]
    exemplified: dict[Metric, bytes]
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
        """``views`` gives a consistent snapshot of all groups to show, from any thread."""
        self._views = views
        self._clock = clock
        self._limits = limits or SeriesLimits()
        self._format = text or TextFormat()
        self._headers = {
            dialect: {metric: self._format.header(metric, dialect) for metric in GROUP_ROWS} for dialect in Dialect
        }
        self._lock = threading.Lock()
        self._groups: dict[str, _Cached] = {}
        self._latest: dict[str, GroupView] = {}

    @property
    def folded(self) -> int:
        """Label sets folded to keep within the limits, over all groups."""
        with self._lock:
            return sum(cached.folded for cached in self._groups.values())

    def refresh(self) -> None:
        """Bring the cached text up to date, so that the next scrape finds less to do."""
        with self._lock:
            self._refresh()

    def text(self, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """Complete families with headers; a metric without any sample is left out."""
        with self._lock:
            self._refresh()
            running = self._running(self._clock.now_ms())
            if dialect is Dialect.OPENMETRICS:
                everyone = [
                    {**each.texts, **each.exemplified} if each.exemplified else each.texts
                    for each in self._groups.values()
                ]
            else:
                everyone = [each.texts for each in self._groups.values()]
            parts: list[bytes] = []
            for metric, header in self._headers[dialect].items():
                samples = running.get(metric) or [texts[metric] for texts in everyone if metric in texts]
                if samples:
                    parts += (header, *samples)
            return b"".join(parts)

    def _refresh(self) -> None:
        self._latest = views = {view.group: view for view in self._views()}
        changed = [view for view in views.values() if not self._current(view)]
        if not changed and len(views) == len(self._groups):
            return
        for view in changed:
            samples = group_samples(view, self._limits)
            texts = {metric: self._format.samples(metric, each) for metric, each in samples.by_metric.items() if each}
            exemplified = {
                metric: self._format.samples(metric, each, Dialect.OPENMETRICS)
                for metric, each in samples.by_metric.items()
                if has_exemplars(each)
            }
            self._groups[view.group] = _Cached(_version(view), texts, exemplified, samples.folded)
        self._groups = {group: self._groups[group] for group in sorted(views)}

    def _current(self, view: GroupView) -> bool:
        cached = self._groups.get(view.group)
        return cached is not None and cached.version == _version(view)

    def _running(self, now_ms: int) -> dict[Metric, list[bytes]]:
        lines: dict[Metric, list[bytes]] = {}
        for group in self._groups:
            for metric, sample in running_samples(self._latest[group], now_ms):
                lines.setdefault(metric, []).append(self._format.samples(metric, (sample,)))
        return lines


def _version(view: GroupView) -> tuple[int, int]:
    # A group that was deleted and came back counts its versions anew.
    return view.first_seen_ms, view.version
