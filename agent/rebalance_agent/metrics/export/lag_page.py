"""Renders the part of /metrics about consumer lag, once for each measurement."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence

from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.metrics.group_metric import FOLDED, Sample
from rebalance_agent.metrics.lag_rows import (
    CATCH_UP_PARTITION_SECONDS,
    CATCH_UP_SECONDS,
    CATCHING_UP,
    GROUP_LAG_OFFSETS,
    GROUP_LAG_SECONDS,
    LAG_ROWS,
    STUCK_SECONDS,
    TOPIC_LAG_OFFSETS,
    TOPIC_LAG_SECONDS,
)
from rebalance_agent.metrics.metric import Metric
from rebalance_agent.tracking.lag.group_lag import GroupLag, TopicLag

__all__ = ["LagPage"]


class LagPage:
    """Renders the lag of groups in the order of their names. Thread-safe."""

    def __init__(
        self,
        lags: Callable[[], Mapping[str, GroupLag]],
        topics_max: int,
        topic_shown: Callable[[str], bool] = lambda _topic: True,
        text: TextFormat | None = None,
    ) -> None:
        """``lags`` returns the lag of each group, in a new mapping after each measurement.

        ``topics_max``: maximum topics of a group with their own series. ``topic_shown``: if a topic may be a label.
        """
        self._lags = lags
        self._topics_max = topics_max
        self._topic_shown = topic_shown
        self._format = text or TextFormat()
        self._lock = threading.Lock()
        self._written: Mapping[str, GroupLag] | None = None
        self._samples: dict[Metric, bytes] = {}
        self._folded = 0

    @property
    def folded(self) -> int:
        """The number of topics, over all groups, whose lag is only part of a sum."""
        with self._lock:
            self._renew()
            return self._folded

    def refresh(self) -> None:
        """Write the last measurement, so that the next scrape has less work."""
        with self._lock:
            self._renew()

    def text(self, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """Return metric families with headers, without the families that have no samples."""
        with self._lock:
            self._renew()
            families = [(row, samples) for row in LAG_ROWS if (samples := self._samples.get(row))]
        return b"".join(self._format.header(row, dialect) + samples for row, samples in families)

    def _renew(self) -> None:
        lags = self._lags()
        if lags is self._written:
            return
        samples: dict[Metric, list[Sample]] = {row: [] for row in LAG_ROWS}
        folded = 0
        for group, lag in sorted(lags.items()):
            shown, rest = self._split(lag.topics)
            folded += len(rest)
            for metric, sample in _samples(group, lag, shown, rest):
                samples[metric].append(sample)
        self._samples = {row: self._format.samples(row, of_row) for row, of_row in samples.items()}
        self._written, self._folded = lags, folded

    def _split(self, topics: Sequence[TopicLag]) -> tuple[list[TopicLag], list[TopicLag]]:
        """Return the topics with their own series, and the other topics."""
        shown = [lag for lag in topics if self._topic_shown(lag.topic)][: self._topics_max]
        names = {lag.topic for lag in shown}
        return shown, [lag for lag in topics if lag.topic not in names]


def _samples(
    group: str, lag: GroupLag, shown: Sequence[TopicLag], rest: Sequence[TopicLag]
) -> Iterator[tuple[Metric, Sample]]:
    yield GROUP_LAG_OFFSETS, Sample((group,), lag.offsets)
    if lag.seconds is not None:
        yield GROUP_LAG_SECONDS, Sample((group,), lag.seconds)
    if lag.has_owned:
        yield STUCK_SECONDS, Sample((group,), lag.stuck.seconds if lag.stuck else 0)
    if catch_up := lag.catch_up:
        yield CATCHING_UP, Sample((group,), catch_up.partitions)
        if catch_up.seconds is not None:
            yield CATCH_UP_SECONDS, Sample((group,), catch_up.seconds)
        yield CATCH_UP_PARTITION_SECONDS, Sample((group,), catch_up.partition_seconds)
    for topic in (*shown, *([_sum(rest)] if rest else [])):
        labels = (group, topic.topic)
        yield TOPIC_LAG_OFFSETS, Sample(labels, topic.offsets)
        if topic.seconds is not None:
            yield TOPIC_LAG_SECONDS, Sample(labels, topic.seconds)


def _sum(topics: Sequence[TopicLag]) -> TopicLag:
    seconds = [lag.seconds for lag in topics if lag.seconds is not None]
    return TopicLag(FOLDED, sum(lag.offsets for lag in topics), max(seconds, default=None))
