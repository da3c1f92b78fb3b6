"""Renders the groups' part of /metrics: writes samples as text when a group changes, and joins texts in a scrape.

Both dialects use the same texts; only texts with exemplars are stored twice. A scrape writes a few groups at most and
never waits for a refresh. While thousands of groups change at once, the texts of some are a second or two behind.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress, islice
from operator import is_not

from rebalance_agent.clock import Clock
from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.export.group_texts import GroupTexts, KeptTexts, Series
from rebalance_agent.metrics.export.text import TextFormat, has_exemplars
from rebalance_agent.metrics.group_metric import SeriesLimits, Values
from rebalance_agent.metrics.group_rows import GROUP_ROWS
from rebalance_agent.metrics.group_samples import constant_until_ms, group_samples, running_samples
from rebalance_agent.metrics.metric import Metric, MetricType
from rebalance_agent.metrics.short_names import is_long
from rebalance_agent.tracking.views import GroupView, StallHistogram

__all__ = ["REFRESHED_MAX", "WRITTEN_BY_SCRAPE_MAX", "GroupsPage"]

REFRESHED_MAX = 50
"""Maximum number of changed groups that a `GroupsPage.refresh` writes, in about 10 ms, because its caller has other
work."""

WRITTEN_BY_SCRAPE_MAX = 200
"""Maximum number of changed groups that a scrape writes, in about 0.1 s; `GroupsPage.refresh` writes the other
groups."""


_COUNTED = (MetricType.COUNTER, MetricType.HISTOGRAM)

_RUNNING = tuple((index, metric) for index, metric in enumerate(GROUP_ROWS) if metric.running and not metric.at_rest)


class GroupsPage:
    """Renders groups in the order of their names. Thread-safe.

    A group can get a counter or histogram later than others, when its members begin to report. In the first scrape,
    such a series is 0 whatever its count is, because ``increase()`` ignores the value with which a series appears.
    """

    def __init__(
        self,
        views: Callable[[], Iterable[GroupView]],
        clock: Clock,
        limits: SeriesLimits | None = None,
        text: TextFormat | None = None,
    ) -> None:
        """``views`` returns a consistent snapshot of all exported groups, from any thread.

        If it returns the same tuple object as before, its views are not compared again.
        """
        self._views = views
        self._compared: tuple[GroupView, ...] = ()
        self._unwritten: dict[str, GroupView] = {}
        self._clock = clock
        self._limits = limits or SeriesLimits()
        self._format = text or TextFormat()
        self._headers = {
            dialect: {metric: self._format.header(metric, dialect) for metric in GROUP_ROWS} for dialect in Dialect
        }
        self._writing = threading.Lock()
        self._kept = KeptTexts(self._limits.page_bytes_max)
        self._scraped_at_zero = False
        self._series: dict[Series, Series] = {}  # one object for each: thousands of groups share a few

    @property
    def folded(self) -> int:
        """Return the number of label sets, over all groups, that were folded to keep within the limits."""
        return self._kept.total(lambda texts: texts.folded)

    @property
    def shortened(self) -> int:
        """Return the number of shortened names in label values, over all groups."""
        return self._kept.total(lambda texts: texts.shortened)

    @property
    def left_out(self) -> int:
        """Return the number of groups without series; their series would exceed ``page_bytes_max``."""
        return self._kept.left_out

    def refresh(self) -> bool:
        """Write texts of changed groups, so that the next scrape has less work; return whether some groups are left."""
        with self._writing:
            return self._renew(REFRESHED_MAX)

    def text(self, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """Return the `pieces` as one text."""
        return b"".join(self.pieces(dialect))

    def pieces(self, dialect: Dialect = Dialect.PROMETHEUS) -> list[bytes]:
        """Return metric families with headers, without the metrics that have no samples.

        The pieces are the cached texts themselves, because copies for thousands of groups would take tens of megabytes.
        """
        if self._writing.acquire(blocking=False):
            try:
                self._renew(WRITTEN_BY_SCRAPE_MAX)
            finally:
                self._writing.release()
        views = {view.group: view for view in self._views()}
        groups = [(views[group], texts) for group, texts in self._kept.shown(views.keys()).items()]
        for view, texts in groups:
            if texts.scraped is not texts.counted and self._kept.mark_scraped(view.group, texts):
                self._scraped_at_zero = True
        now_ms = self._clock.now_ms()
        openmetrics = dialect is Dialect.OPENMETRICS
        by_group = [self._present(view, cached, now_ms, openmetrics) for view, cached in groups]
        parts: list[bytes] = []
        for index, (metric, header) in enumerate(self._headers[dialect].items()):
            if metric.at_rest and metric.running:
                of_group, value = self._format.of_group, metric.running
                samples = [of_group(view.group)(metric, value(view, now_ms)) for view, _ in groups]
            else:
                samples = [texts[index] for texts in by_group]
            if written := list(filter(None, samples)):
                parts += (header, *written)
        return parts

    def _renew(self, groups_max: int) -> bool:
        """Write up to ``groups_max`` changed groups, and drop deleted groups; return whether changed groups are left.

        ``_writing`` must be held.
        """
        views = tuple(self._views())
        if self._scraped_at_zero:
            self._scraped_at_zero, self._compared = False, ()
        if views is not self._compared:
            self._compare(views)
        for group in list(islice(self._unwritten, groups_max)):
            self._kept.keep(group, self._write(self._unwritten.pop(group)))
        if self._kept.readmit():
            self._compared = ()
        return bool(self._unwritten)

    def _compare(self, views: tuple[GroupView, ...]) -> None:
        """Find the views that have no text yet. A group that changes again while it waits keeps its place."""
        # Only a few of thousands of views are new, and nearly always they replace the old views at the same index.
        new = [*compress(views, map(is_not, views, self._compared)), *views[len(self._compared) :]]
        self._unwritten |= {view.group: view for view in new if not self._current(view)}
        if len(views) != len(self._kept) + sum(self._kept.get(group) is None for group in self._unwritten):
            names = {view.group for view in views}
            self._kept.forget(names)
            self._unwritten = {group: view for group, view in self._unwritten.items() if group in names}
        self._compared = views

    def _write(self, view: GroupView) -> GroupTexts:
        samples, now_ms = group_samples(view, self._limits), self._clock.now_ms()
        counted = frozenset(
            (metric.name, labels)
            for metric, of_row in samples.by_metric.items()
            if metric.kind in _COUNTED
            for labels, _ in of_row
        )
        counted = self._series.setdefault(counted, counted)
        before = self._kept.get(view.group)
        scraped = before.scraped if before else None
        by_metric = samples.by_metric if scraped is None else _zero_first(samples.by_metric, counted - scraped)
        values = dict(by_metric) | dict(running_samples(view, now_ms))
        text = self._format.of_group(view.group)
        rows = [(metric, values.get(metric, ())) for metric in GROUP_ROWS]
        texts = [text(metric, of_row) if of_row else b"" for metric, of_row in rows]
        exemplified = tuple(
            (index, text(metric, of_row, Dialect.OPENMETRICS))
            for index, (metric, of_row) in enumerate(rows)
            if metric.buckets and has_exemplars(of_row)
        )
        size = sum(map(len, texts)) + sum(len(more) for _, more in exemplified)
        names = {view.group, *(name for of_row in values.values() for labels, _ in of_row for name in labels)}
        return GroupTexts(
            view.edition,
            constant_until_ms(view, now_ms),
            tuple([b"" if metric.at_rest else of_row for (metric, _), of_row in zip(rows, texts, strict=True)]),
            exemplified,
            samples.folded,
            sum(map(is_long, names)),
            size,
            counted,
            counted if scraped == counted else scraped,
        )

    def _current(self, view: GroupView) -> bool:
        cached = self._kept.get(view.group)
        return cached is not None and cached.edition == view.edition

    def _present(self, view: GroupView, cached: GroupTexts, now_ms: int, openmetrics: bool) -> Sequence[bytes]:
        """Return the texts of ``cached`` as of now; for most groups these are the cached texts themselves."""
        if now_ms < cached.until_ms and not (openmetrics and cached.exemplified):
            return cached.texts
        texts = list(cached.texts)
        if openmetrics:
            for index, written in cached.exemplified:
                texts[index] = written
        if now_ms >= cached.until_ms:
            text, values = self._format.of_group(view.group), dict(running_samples(view, now_ms))
            for index, metric in _RUNNING:
                texts[index] = text(metric, values[metric]) if metric in values else b""
        return texts


def _zero_first(by_metric: Mapping[Metric, Values], new: Series) -> Mapping[Metric, Values]:
    """Return the values, with 0 for ``new`` series."""
    if not new:
        return by_metric
    return {
        metric: [
            (labels, (StallHistogram() if metric.buckets else 0) if (metric.name, labels) in new else value)
            for labels, value in values
        ]
        for metric, values in by_metric.items()
    }
