"""Reads the topic ``rebalance-baselines``: each group's normal stalls and savings, which the pipeline computes."""

from __future__ import annotations

import logging
import math
import sys
import threading
from array import array
from typing import NamedTuple

from rebalance_agent.cluster.backoff import Backoff
from rebalance_agent.cluster.collector_context import CollectorContext
from rebalance_agent.cluster.topic_reader import BEGINNING, TopicReader, TopicRecord
from rebalance_agent.cluster.worker import DENIED_RETRY_S, failure_reason
from rebalance_agent.errors import AccessDeniedError, InvalidInputError
from rebalance_agent.model.baseline import (
    HOURS_OF_WEEK,
    AdviceSavings,
    GroupBaseline,
    baseline_from_json,
    hour_of_week,
)

__all__ = [
    "BASELINES_BYTES_MAX",
    "BASELINES_EVERY_S",
    "BASELINES_MAX",
    "BASELINES_PART",
    "BASELINE_AGE_MAX_MS",
    "Baseline",
    "Baselines",
    "BaselinesReader",
]

BASELINES_PART = "baselines"
"""The part's name in readiness."""

BASELINES_MAX = 20_000
"""Maximum number of groups whose baselines (4 kB each) are kept: more groups than one observer is designed for."""

BASELINES_BYTES_MAX = 96 * 2**20
"""Maximum memory of all baselines in bytes: those of `BASELINES_MAX` groups with names of 500 bytes."""

PACKED_BYTES = 500
"""Bytes that a group takes in addition to its name and hours: the savings, the objects and the table entry."""

BASELINE_AGE_MAX_MS = 35 * 86_400_000
"""Age (ms) above which a baseline is ignored: five weeks."""

TOPIC_AGAIN_S = 60.0
"""Seconds between checks of the topic's existence and partitions, which rarely change."""

BASELINES_EVERY_S = 10.0
"""Seconds between reads: baselines are computed once a day or so."""

READ_MAX = 500
"""Maximum number of records per read."""

CALL_S = 5.0
"""Seconds after which a call starts no further read. Otherwise a writer could occupy the call's thread forever."""

WAIT_S = 0.5
"""Seconds without a record after which all records count as read."""

TUNING = {"fetch.wait.max.ms": "5000", "fetch.queue.backoff.ms": "10", "queued.max.messages.kbytes": "4096"}

_NUMBERS = 3

_log = logging.getLogger(__name__)


class Baseline(NamedTuple):
    """Percentiles of one group's stalls at one hour of the week, in seconds; None if unknown."""

    p50: float | None
    p95: float | None
    p99: float | None


class _Packed(NamedTuple):
    """A group's hours with three numbers each (NaN for None), because objects would take six times the memory.

    ``seconds`` is empty for a group without baselines. ``size_bytes``: the memory of all this and of the group's name.
    """

    size_bytes: int
    computed_ms: int
    seconds: array[float]
    savings: AdviceSavings | None


class Baselines:
    """The newest baseline and savings of each group. Safe to use from several threads.

    ``version`` increases with every change, so that a renderer can detect that its text is outdated. ``size_bytes``:
    the memory of all baselines.
    """

    def __init__(self) -> None:
        """Start without baselines."""
        self.version = 0
        self._lock = threading.Lock()
        self._groups: dict[str, _Packed] = {}
        self.size_bytes = 0

    def put(self, baseline: GroupBaseline) -> bool:
        """Replace the group's baseline; return False, and keep none of the group, if there is no room.

        There is room for `BASELINES_MAX` groups and `BASELINES_BYTES_MAX`.
        """
        seconds = array("d", [math.nan]) * (HOURS_OF_WEEK * _NUMBERS if baseline.hours else 0)
        for hour in baseline.hours:
            percentiles = (hour.stall_p50_seconds, hour.stall_p95_seconds, hour.stall_p99_seconds)
            for index, value in enumerate(percentiles, hour.hour_of_week * _NUMBERS):
                seconds[index] = math.nan if value is None else value
        size_bytes = PACKED_BYTES + sys.getsizeof(baseline.group) + sys.getsizeof(seconds)
        with self._lock:
            self._drop(baseline.group)
            if len(self._groups) >= BASELINES_MAX or self.size_bytes + size_bytes > BASELINES_BYTES_MAX:
                return False
            self._groups[baseline.group] = _Packed(size_bytes, baseline.computed_ms, seconds, baseline.savings)
            self.size_bytes += size_bytes
            self.version += 1
        return True

    def drop(self, group: str) -> None:
        """Remove the group's baseline."""
        with self._lock:
            self._drop(group)

    def clear(self) -> None:
        """Remove all baselines."""
        with self._lock:
            if self._groups:
                self._groups.clear()
                self.size_bytes = 0
                self.version += 1

    def at(self, group: str, now_ms: int) -> Baseline | None:
        """Return the baseline of ``group`` at the hour of ``now_ms`` (epoch ms); None if it is unknown or too old."""
        packed = self._current(group, now_ms)
        if packed is None or not packed.seconds:
            return None
        first = hour_of_week(now_ms) * _NUMBERS
        p50, p95, p99 = (None if math.isnan(value) else value for value in packed.seconds[first : first + _NUMBERS])
        return None if p50 is None else Baseline(p50, p95, p99)

    def savings(self, group: str, now_ms: int) -> AdviceSavings | None:
        """Return what recommended changes save in ``group``; None if none is recommended, or if that is too old."""
        packed = self._current(group, now_ms)
        return packed.savings if packed else None

    def _drop(self, group: str) -> None:
        packed = self._groups.pop(group, None)
        if packed is not None:
            self.size_bytes -= packed.size_bytes
            self.version += 1

    def _current(self, group: str, now_ms: int) -> _Packed | None:
        with self._lock:
            packed = self._groups.get(group)
        return packed if packed and now_ms - packed.computed_ms <= BASELINE_AGE_MAX_MS else None


class BaselinesReader:
    """Keeps ``baselines`` equal to this cluster's records in the topic, and empty if there is no topic.

    Only one caller at a time is allowed. The reader's Kafka client exists only if the topic exists.
    """

    def __init__(self, context: CollectorContext, topic: str, cluster_id: str, baselines: Baselines) -> None:
        """``cluster_id``: baselines of other clusters are skipped."""
        self._context = context
        self._topic = topic
        self._cluster_id = cluster_id
        self._baselines = baselines
        self._full = False
        self._reader: TopicReader | None = None
        self._backoff = Backoff()
        self._look_at = self._not_before = float("-inf")

    def __call__(self) -> None:
        """Read new records, for about `CALL_S` at most. Never raises; after failures it reads less often."""
        now = self._context.clock.monotonic()
        if now < self._not_before:
            return
        try:
            self._read(now)
        except Exception as error:  # noqa: BLE001 - a bug in this package must not end the reading
            self.close()
            reason = failure_reason(error, BASELINES_PART, _log)
            if isinstance(error, AccessDeniedError):
                # Not a failure: the degraded mode is reported, and the metric is absent.
                self._context.health.ready(BASELINES_PART)
                self._not_before = self._context.clock.monotonic() + DENIED_RETRY_S
            else:
                self._context.health.unready(BASELINES_PART, reason)
                self._not_before = self._context.clock.monotonic() + self._backoff.next()

    def close(self) -> None:
        """Close the client; the next call reads the topic from its beginning."""
        reader, self._reader, self._look_at = self._reader, None, float("-inf")
        if reader:
            reader.close()

    def _read(self, now: float) -> None:
        if now >= self._look_at:
            reader = self._reader = self._reader or TopicReader(self._context.properties, self._topic, TUNING)
            count = reader.partitions()
            if not count:
                self._baselines.clear()
                self.close()
            else:
                reader.begin(dict.fromkeys(range(len(reader.positions), count), BEGINNING))
            self._look_at = now + TOPIC_AGAIN_S
            self._context.health.ready(BASELINES_PART)
            self._backoff.reset()
        while self._reader and (records := self._reader.read(READ_MAX, WAIT_S)):
            for record in records:
                self.take(record)
            if self._context.clock.monotonic() - now >= CALL_S:
                return

    def take(self, record: TopicRecord) -> None:
        """Process one record of the topic."""
        key, value = record.key() or b"", record.value()
        if value is None:
            self._forget(key)
            return
        try:
            baseline = baseline_from_json(value)
        except InvalidInputError as error:
            self._context.meters.baseline_malformed()
            _log.debug("not a baseline: %s-%d, offset %d: %s", self._topic, record.partition(), record.offset(), error)
            return
        if baseline.cluster_id == self._cluster_id and not self._baselines.put(baseline) and not self._full:
            self._full = True
            limits = BASELINES_MAX, BASELINES_BYTES_MAX
            _log.warning("there are baselines of more than %d groups or %d bytes: the others are not shown", *limits)

    def _forget(self, key: bytes) -> None:
        prefix = f"{self._cluster_id}:".encode()
        if key.startswith(prefix):
            self._baselines.drop(key.removeprefix(prefix).decode("utf-8", "replace"))
