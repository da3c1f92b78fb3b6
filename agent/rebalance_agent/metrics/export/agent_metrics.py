"""The metrics of the agent's own work, ``rebalance_agent_*``; each method records one occurrence."""

from __future__ import annotations

import platform
import threading
from collections.abc import Callable, Sequence
from typing import Literal

from rebalance_agent import __version__
from rebalance_agent.http.health import Readiness
from rebalance_agent.metrics import agent_rows as rows
from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.export.instruments import Instruments
from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.metrics.metric import ExporterRole

__all__ = ["AgentMetrics", "Poll"]

Poll = Literal["describe", "list", "list_all", "loads", "topics"]
"""Label values of polls. ``list``: rebalancing groups; ``list_all``: all groups; ``loads``: end offsets and commits."""


class AgentMetrics:
    """The counters, gauges and histograms ``rebalance_agent_*`` of one process. Thread-safe."""

    def __init__(
        self,
        role: ExporterRole,
        readiness: Readiness,
        *,
        configured: bool,
        folded: Callable[[], int] = lambda: 0,
        shortened: Callable[[], int] = lambda: 0,
        left_out: Callable[[], int] = lambda: 0,
        text: TextFormat | None = None,
    ) -> None:
        """``role``: the role of this process; a gateway also exports a sidecar's rows.

        ``folded``: returns the number of folded label sets. ``shortened``: returns the number of shortened names in
        label values. ``left_out``: returns the number of an observer's groups without series.
        """
        roles = {role, ExporterRole.AGENT} | ({ExporterRole.SIDECAR} if role is ExporterRole.GATEWAY else set())
        self._instruments = Instruments((row for row in rows.AGENT_ROWS if row.role in roles), text)
        self._readiness = readiness
        self._folded = folded
        self._lock = threading.Lock()
        self._over_budget: dict[str, list[str]] = {}
        self._last_snapshot_ms = 0
        self._shortened = shortened
        self._left_out = left_out if role is ExporterRole.OBSERVER else None
        self._instruments.gauge(rows.BUILD_INFO).labels(__version__, platform.python_version(), role).set(1)
        self.configured(configured)

    def configured(self, is_configured: bool) -> None:
        """Set whether a Kafka cluster is configured."""
        self._instruments.gauge(rows.CONFIGURED).set(int(is_configured))

    def reconnected(self) -> None:
        """Count a reconnection to a lost cluster."""
        self._instruments.counter(rows.RECONNECTS).inc()

    def events_received(self, kind: str, number: int = 1) -> None:
        """Count events received from members; ``kind`` is an event's ``KIND``."""
        self._instruments.counter(rows.EVENTS_RECEIVED).labels(kind).inc(number)

    def event_malformed(self) -> None:
        """Count a record of the events topic that is not an event."""
        self._instruments.counter(rows.EVENTS_MALFORMED).inc()

    def baseline_malformed(self) -> None:
        """Count a record of the baselines topic that is not a baseline."""
        self._instruments.counter(rows.BASELINES_MALFORMED).inc()

    def events_published(self, kind: str, sink: str, number: int = 1) -> None:
        """Count events that ``sink`` (kafka, file or webhook) delivered."""
        self._instruments.counter(rows.EVENTS_PUBLISHED).labels(kind, sink).inc(number)

    def events_dropped(self, where: str, number: int = 1) -> None:
        """Count lost events. ``where``: member (a consumer's full queue), agent (this process), or a sink's name."""
        self._instruments.counter(rows.EVENTS_DROPPED).labels(where).inc(number)

    def otlp_exported(self, outcome: Literal["accepted", "failed"]) -> None:
        """Count an export of all metrics over OTLP."""
        self._instruments.counter(rows.OTLP_EXPORTS).labels(outcome).inc()

    def request_rejected(self, status: int) -> None:
        """Count a POST of events that this process refused with this HTTP status."""
        self._instruments.counter(rows.REQUESTS_REJECTED).labels(str(status)).inc()

    def connection_cut(self, reason: str) -> None:
        """Count a client's connection that a listener closed."""
        self._instruments.counter(rows.CONNECTIONS_CUT).labels(reason).inc()

    def read(self, records: int, size_bytes: int) -> None:
        """Count records read from the offsets topic, and their bytes."""
        self._instruments.counter(rows.READ_RECORDS).inc(records)
        self._instruments.counter(rows.READ_BYTES).inc(size_bytes)

    def decode_error(self, key_version: int | None) -> None:
        """Count a record that does not match its schema; ``key_version`` is None if the key is too short."""
        versions = rows.DECODE_ERRORS.values["key_version"]
        label = str(key_version)
        self._instruments.counter(rows.DECODE_ERRORS).labels(label if label in versions else rows.OTHER).inc()

    def unknown_record(self, unknown: Literal["key_version", "value_version"], number: int = 1) -> None:
        """Count records that were skipped because their key's or value's version is unknown."""
        self._instruments.counter(rows.UNKNOWN_RECORDS).labels(unknown).inc(number)

    def unknown_tagged_fields(self, number: int) -> None:
        """Count unknown tagged fields that were skipped."""
        self._instruments.counter(rows.UNKNOWN_TAGS).inc(number)

    def over_budget(self, outcome: Literal["waited", "skipped", "unreported"], number: int = 1) -> None:
        """Count records of groups that caused more work than their share or that take too much memory."""
        self._instruments.counter(rows.OVER_BUDGET).labels(outcome).inc(number)

    def groups_over_budget(self, budget: Literal["work", "memory"], groups: Sequence[str]) -> None:
        """Set the names of the groups that recently exceeded this budget."""
        with self._lock:
            if list(groups) != self._over_budget.get(budget, []):
                self._over_budget[budget] = list(groups)
                gauge = self._instruments.gauge(rows.GROUP_OVER_BUDGET)
                gauge.clear()
                for group in {name for names in self._over_budget.values() for name in names}:
                    gauge.labels(group).set(1)

    def observation_age(self, seconds: float) -> None:
        """Set how long the oldest observation has waited for processing."""
        self._instruments.gauge(rows.OBSERVATION_AGE).set(seconds)

    def tail_lag(self, records: int) -> None:
        """Set the number of records between the tail and the end of the offsets topic."""
        self._instruments.gauge(rows.TAIL_LAG).set(records)

    def loads_left_out(self, partitions: int) -> None:
        """Set the number of partitions whose lag and rate are not measured because there are too many partitions."""
        self._instruments.gauge(rows.LOADS_LEFT_OUT).set(partitions)

    def owned(self, partitions: int, *, changed: bool) -> None:
        """Set the number of owned partitions of the offsets topic, and count a change of ownership."""
        self._instruments.gauge(rows.OWNED_PARTITIONS).set(partitions)
        self._instruments.counter(rows.OWNERSHIP_CHANGES).inc(changed)

    def replayed(self, records: int) -> None:
        """Count group records that were read again after a snapshot."""
        self._instruments.counter(rows.REPLAYED_RECORDS).inc(records)

    def snapshot_due(self, now_ms: int) -> None:
        """Record that snapshots are due from ``now_ms`` (epoch milliseconds), unless they were already due."""
        if not self._last_snapshot_ms:
            self._set_last_snapshot(now_ms)

    def snapshot_written(self, now_ms: int, size_bytes: int) -> None:
        """Record that Kafka acknowledged a snapshot of ``size_bytes`` as of ``now_ms`` (epoch milliseconds).

        Kafka may acknowledge the snapshots of two partitions in any order.
        """
        self._set_last_snapshot(max(now_ms, self._last_snapshot_ms))
        self._instruments.counter(rows.SNAPSHOT_BYTES).inc(size_bytes)

    def _set_last_snapshot(self, at_ms: int) -> None:
        self._last_snapshot_ms = at_ms
        self._instruments.gauge(rows.LAST_SNAPSHOT).set(at_ms / 1000)

    def snapshot_problem(self, problem: str) -> None:
        """Count a snapshot that could not be used or written; ``problem`` is a value of the row's label."""
        self._instruments.counter(rows.SNAPSHOT_PROBLEMS).labels(problem).inc()

    def offsets_limit(self, size_bytes: int) -> None:
        """Set max.message.bytes of the offsets topic."""
        self._instruments.gauge(rows.OFFSETS_MAX_BYTES).set(size_bytes)

    def polled(self, poll: Poll, seconds: float, succeeded_ms: int | None) -> None:
        """Record a poll of ``seconds``; ``succeeded_ms``: time of its response (epoch ms), None if the poll failed."""
        self._instruments.histogram(rows.POLL_SECONDS).labels(poll).observe(seconds)
        if succeeded_ms is not None:
            self._instruments.gauge(rows.LAST_POLL).labels(poll).set(succeeded_ms / 1000)

    def text(self, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """Return the metric families as text, with headers."""
        for part, reason in self._readiness.reasons().items():
            self._instruments.gauge(rows.READY).labels(part).set(int(reason is None))
        for mode, reason in self._readiness.modes().items():
            self._instruments.gauge(rows.DEGRADED).labels(mode).set(int(reason is not None))
        self._instruments.gauge(rows.SERIES_FOLDED).set(self._folded())
        self._instruments.gauge(rows.NAMES_SHORTENED).set(self._shortened())
        if self._left_out:
            self._instruments.gauge(rows.GROUPS_LEFT_OUT).set(self._left_out())
        return self._instruments.text(dialect)
