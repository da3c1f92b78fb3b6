"""Computes ``kafka_rebalance_member_*``: metrics of the consumers beside a sidecar, from the events that they post."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass

from prometheus_client.metrics import MetricWrapperBase

from rebalance_agent.clock import Clock
from rebalance_agent.instrumentation.delivery.heartbeat import PERIOD_SECONDS
from rebalance_agent.metrics import member_rows as rows
from rebalance_agent.metrics.export.clients_seen import ClientsSeen, ConsumerStatus, SeenClient
from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.export.instruments import Instruments, Sample
from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.metrics.group_metric import FOLDED
from rebalance_agent.metrics.metric import Metric
from rebalance_agent.metrics.short_names import is_long
from rebalance_agent.model.episode import Evidence
from rebalance_agent.model.events import AssignEvent, Callback, Event, MemberEvent
from rebalance_agent.model.partitions import count_partitions

__all__ = ["MemberLimits", "MemberMetrics"]

_TOTALS = {Callback.REVOKED: rows.REVOKED, Callback.ASSIGNED: rows.ASSIGNED, Callback.LOST: rows.LOST}


@dataclass(frozen=True, slots=True)
class MemberLimits:
    """Limits on the series that a sidecar exports.

    ``max_client_ids``: (group, client id) pairs with their own series. ``max_assignors``: names of assignors. All
    others share the label value ``_folded``. ``silent_seconds``: a consumer without a report for this time is removed.
    The time is long, because a healthy consumer does not report between rebalances. ``lifeless_seconds``: the time for
    consumers whose process sends heartbeats: three missed heartbeats and 30 s.
    """

    max_client_ids: int = 50
    max_assignors: int = 10
    silent_seconds: float = 24 * 3600
    lifeless_seconds: float = 3 * PERIOD_SECONDS + 30


class MemberMetrics:
    """Computes metrics from members' events. Thread-safe.

    Every counter and histogram is scraped as 0 before its first value. The series that a process's shutdown changes
    exist from the first event of the process, because the process may be gone before two more scrapes.

    When a client leaves, its gauges are removed immediately, and its counters after ``silent_seconds``. Consumers with
    equal labels share series: the sum of their partitions, and the highest generation and skew.
    """

    def __init__(self, clock: Clock, limits: MemberLimits | None = None, text: TextFormat | None = None) -> None:
        """Start without series; the first event adds some."""
        self._clock = clock
        self._limits = limits or MemberLimits()
        self._instruments = Instruments(rows.MEMBER_ROWS, text, zero_first=True)
        self._lock = threading.Lock()
        self._clients = ClientsSeen()
        self._pairs: dict[tuple[str, str], float] = {}
        self._assignors: set[tuple[str, str]] = set()

    @property
    def folded(self) -> int:
        """The number of (group, client id) pairs without their own series."""
        with self._lock:
            return len({(client.group, client.client_id) for client in self._clients} - self._pairs.keys())

    @property
    def shortened(self) -> int:
        """Return the number of shortened names in label values."""
        with self._lock:
            return sum(map(is_long, {name for labels in (*self._pairs, *self._assignors) for name in labels}))

    def observe(self, events: Iterable[Event]) -> None:
        """Count events of members and assign() calls; duplicates and events of other kinds are ignored."""
        with self._lock:
            now = self._clock.monotonic()
            for event in events:
                if isinstance(event, MemberEvent | AssignEvent) and (client := self._clients.record(event, now)):
                    labels = self._labels(event, now)
                    if isinstance(event, MemberEvent):
                        self._callback(client, event, labels)
                    else:
                        self._assign(client, event, labels)
            self._expire(now)

    def alive(self, process: str) -> None:
        """Record a heartbeat of a consumer's process."""
        with self._lock:
            self._renew(self._clients.renew(process, self._clock.monotonic()))

    def all_alive(self) -> None:
        """Record a heartbeat of every consumer that has not left."""
        with self._lock:
            self._renew(self._clients.renew_all(self._clock.monotonic()))

    def consumers(self) -> list[ConsumerStatus]:
        """Return the present consumers, the least recently seen first."""
        with self._lock:
            now = self._clock.monotonic()
            self._expire(now)
            return self._clients.statuses(now, self._clock.now_ms())

    def text(self, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """Return metric families with their headers."""
        with self._lock:
            self._expire(self._clock.monotonic())
            self._set_gauges()
            return self._instruments.text(dialect)

    def families(self, reader: Hashable) -> list[tuple[Metric, list[Sample]]]:
        """Yield rows with their samples; rows without samples are left out. ``reader``: see `Instruments`."""
        with self._lock:
            self._expire(self._clock.monotonic())
            self._set_gauges()
            return list(self._instruments.families(reader))

    def _renew(self, clients: Iterable[SeenClient]) -> None:
        for client in clients:
            pair = (client.group, client.client_id)
            if pair in self._pairs:
                self._pairs[pair] = client.seen

    def _labels(self, event: MemberEvent | AssignEvent, now: float) -> tuple[str, str]:
        pair = (event.group, event.client_id)
        if pair in self._pairs or len(self._pairs) < self._limits.max_client_ids:
            if pair not in self._pairs:
                for row in _TOTALS.values():
                    self._instruments.counter(row).labels(*pair)
            self._pairs[pair] = now
        return self._exported_labels(*pair)

    def _exported_labels(self, group: str, client_id: str) -> tuple[str, str]:
        if (group, client_id) in self._pairs:
            return group, client_id
        return (group if any(group == exported for exported, _ in self._pairs) else FOLDED), FOLDED

    def _callback(self, client: SeenClient, event: MemberEvent, labels: tuple[str, str]) -> None:
        stall = self._clients.callback(client, event)
        if event.callback is Callback.LEFT:
            self._clients.forget(client)
            return
        seconds = max(0, event.timestamp_ms - event.started_ms) / 1000
        stalls = self._instruments.histogram(rows.STALL).labels(labels[0])
        if event.evidence is not Evidence.GATEWAY:  # a gateway reads no callbacks
            callbacks = self._instruments.histogram(rows.CALLBACK_SECONDS)
            for callback in _TOTALS:
                callbacks.labels(labels[0], callback)
            callbacks.labels(labels[0], event.callback).observe(seconds)
        if stall is not None:
            stalls.observe(max(0.0, stall))
        self._instruments.counter(_TOTALS[event.callback]).labels(*labels).inc(count_partitions(event.partitions))
        if event.reprocessed_records is not None:
            self._instruments.counter(rows.REPROCESSED).labels(*labels).inc(max(0, event.reprocessed_records))
        if event.evidence is Evidence.GATEWAY:  # only a gateway reads rejected commits; its event has none for 0
            rejected = max(0, event.rejected_commits or 0)
            self._instruments.counter(rows.REJECTED_COMMITS).labels(*labels).inc(rejected)
        waits = (
            (rows.STOP, event.stop_seconds),
            (rows.JOIN, event.join_seconds),
            (rows.SYNC, event.sync_seconds),
        )
        for row, waited in waits:
            if waited is not None:
                self._instruments.histogram(row).labels(labels[0]).observe(max(0.0, waited))

    def _assign(self, client: SeenClient, event: AssignEvent, labels: tuple[str, str]) -> None:
        assignor = event.assignor
        if assignor not in (names := {name for _, name in self._assignors}):
            assignor = assignor if len(names) < self._limits.max_assignors else FOLDED
        self._assignors.add((labels[0], assignor))
        seconds = max(0.0, event.duration_seconds)
        self._instruments.histogram(rows.ASSIGN_SECONDS).labels(labels[0], assignor).observe(seconds)
        self._instruments.counter(rows.ASSIGN_FAILURES).labels(labels[0], assignor).inc(int(event.error is not None))
        self._instruments.counter(rows.USER_DATA_ERRORS).labels(labels[0], assignor).inc(len(event.user_data_errors))
        if event.quality is not None:
            client.skew = event.quality.skew_ratio
            client.missing_standbys = event.quality.missing_standbys

    def _set_gauges(self) -> None:
        """Set all gauges from the present consumers."""
        generations: dict[tuple[str, str], int] = {}
        partitions: dict[tuple[str, str], int] = {}
        skews: dict[tuple[str, str], float] = {}
        missing: dict[tuple[str, str], int] = {}
        for client in self._clients:
            labels = self._exported_labels(client.group, client.client_id)
            partitions[labels] = partitions.get(labels, 0) + self._clients.partitions(client)
            if client.generation >= 0:
                generations[labels] = max(generations.get(labels, 0), client.generation)
            if client.skew is not None:
                skews[labels] = max(skews.get(labels, 0.0), client.skew)
            if client.missing_standbys is not None:
                missing[labels] = max(missing.get(labels, 0), client.missing_standbys)
        values_by_row: Mapping[Metric, Mapping[tuple[str, str], float]] = {
            rows.GENERATION: generations,
            rows.PARTITIONS: partitions,
            rows.SKEW: skews,
            rows.MISSING_STANDBYS: missing,
        }
        for row, values in values_by_row.items():
            gauge = self._instruments.gauge(row)
            gauge.clear()
            for labels, value in values.items():
                gauge.labels(*labels).set(value)

    def _expire(self, now: float) -> None:
        before = now - self._limits.silent_seconds
        self._clients.forget_silent(now, self._limits.silent_seconds, self._limits.lifeless_seconds)
        for pair in [pair for pair, seen in self._pairs.items() if seen < before]:
            del self._pairs[pair]
            for row in (*_TOTALS.values(), rows.REPROCESSED, rows.REJECTED_COMMITS):
                _remove(self._instruments.counter(row), *pair)
            if not any(pair[0] == group for group, _ in self._pairs):
                self._expire_group(pair[0])

    def _expire_group(self, group: str) -> None:
        for callback in _TOTALS:
            _remove(self._instruments.histogram(rows.CALLBACK_SECONDS), group, callback)
        for row in (rows.STALL, rows.STOP, rows.JOIN, rows.SYNC):
            _remove(self._instruments.histogram(row), group)
        for _, assignor in [pair for pair in self._assignors if pair[0] == group]:
            _remove(self._instruments.histogram(rows.ASSIGN_SECONDS), group, assignor)
            for row in (rows.ASSIGN_FAILURES, rows.USER_DATA_ERRORS):
                _remove(self._instruments.counter(row), group, assignor)
            self._assignors.discard((group, assignor))


def _remove(instrument: MetricWrapperBase, *labels: str) -> None:
    with contextlib.suppress(KeyError):
        instrument.remove(*labels)
