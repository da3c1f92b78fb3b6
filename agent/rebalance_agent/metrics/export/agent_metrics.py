"""What the agent says of itself. Each method is one thing that can happen to it. Thread-safe."""

from __future__ import annotations

import platform
from collections.abc import Callable
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
"""``list``: only rebalancing groups; ``list_all``: every group; ``loads``: ends of partitions, and commits."""


class AgentMetrics:
    """``rebalance_agent_*`` of one process."""

    def __init__(
        self,
        role: ExporterRole,
        readiness: Readiness,
        *,
        configured: bool,
        folded: Callable[[], int] = lambda: 0,
        text: TextFormat | None = None,
    ) -> None:
        """``role``: of this process; a gateway is a sidecar, too. ``folded``: how many label sets are folded now."""
        roles = {role, ExporterRole.AGENT} | ({ExporterRole.SIDECAR} if role is ExporterRole.GATEWAY else set())
        self._instruments = Instruments((row for row in rows.AGENT_ROWS if row.role in roles), text)
        self._readiness = readiness
        self._folded = folded
        self._instruments.gauge(rows.BUILD_INFO).labels(__version__, platform.python_version(), role).set(1)
        self.configured(configured)

    def configured(self, yes: bool) -> None:
        """Whether there is a cluster to watch or publish to."""
        self._instruments.gauge(rows.CONFIGURED).set(int(yes))

    def reconnected(self) -> None:
        """A lost cluster was reached again."""
        self._instruments.counter(rows.RECONNECTS).inc()

    def events_received(self, kind: str, number: int = 1) -> None:
        """Events of members were taken in; ``kind`` is an event's ``KIND``."""
        self._instruments.counter(rows.EVENTS_RECEIVED).labels(kind).inc(number)

    def event_malformed(self) -> None:
        """A record of the events topic was no event."""
        self._instruments.counter(rows.EVENTS_MALFORMED).inc()

    def baseline_malformed(self) -> None:
        """A record of the baselines topic was no baseline."""
        self._instruments.counter(rows.BASELINES_MALFORMED).inc()

    def events_published(self, kind: str, sink: str, number: int = 1) -> None:
        """Events arrived where ``sink`` (kafka, file, webhook) brings them."""
        self._instruments.counter(rows.EVENTS_PUBLISHED).labels(kind, sink).inc(number)

    def events_dropped(self, where: str, number: int = 1) -> None:
        """Events were lost: in a consumer's queue as it reports (member), in this process (agent), or by a sink."""
        self._instruments.counter(rows.EVENTS_DROPPED).labels(where).inc(number)

    def request_rejected(self, status: int) -> None:
        """A post of events was refused with this HTTP status."""
        self._instruments.counter(rows.REQUESTS_REJECTED).labels(str(status)).inc()

    def connection_cut(self, reason: str) -> None:
        """A listener ended a client's connection."""
        self._instruments.counter(rows.CONNECTIONS_CUT).labels(reason).inc()

    def read(self, records: int, size_bytes: int) -> None:
        """Records came from the offsets topic."""
        self._instruments.counter(rows.READ_RECORDS).inc(records)
        self._instruments.counter(rows.READ_BYTES).inc(size_bytes)

    def decode_error(self, key_version: int | None) -> None:
        """A record broke its schema; None where not even the key's version could be read."""
        known = rows.DECODE_ERRORS.values["key_version"]
        label = str(key_version)
        self._instruments.counter(rows.DECODE_ERRORS).labels(label if label in known else rows.OTHER).inc()

    def unknown_record(self, unknown: Literal["key_version", "value_version"], number: int = 1) -> None:
        """Records were passed over because this version does not know theirs."""
        self._instruments.counter(rows.UNKNOWN_RECORDS).labels(unknown).inc(number)

    def unknown_tagged_fields(self, number: int) -> None:
        """Tagged fields of records were skipped because this version does not know them."""
        self._instruments.counter(rows.UNKNOWN_TAGS).inc(number)

    def tail_lag(self, records: int) -> None:
        """Records between the tail and the end of the offsets topic, now."""
        self._instruments.gauge(rows.TAIL_LAG).set(records)

    def loads_left_out(self, partitions: int) -> None:
        """So many partitions are too many to follow their lag and rate, now."""
        self._instruments.gauge(rows.LOADS_LEFT_OUT).set(partitions)

    def owned(self, partitions: int) -> None:
        """The share of the offsets topic that is owned here became another one, of so many partitions."""
        self._instruments.gauge(rows.OWNED_PARTITIONS).set(partitions)
        self._instruments.counter(rows.OWNERSHIP_CHANGES).inc()

    def replayed(self, records: int) -> None:
        """Records of groups were read again, from a snapshot on."""
        self._instruments.counter(rows.REPLAYED_RECORDS).inc(records)

    def snapshot_written(self, now_ms: int, size_bytes: int) -> None:
        """Kafka acknowledged a snapshot at ``now_ms`` (epoch), for which so many bytes of records were sent."""
        self._instruments.gauge(rows.LAST_SNAPSHOT).set(now_ms / 1000)
        self._instruments.counter(rows.SNAPSHOT_BYTES).inc(size_bytes)

    def snapshot_problem(self, problem: str) -> None:
        """A snapshot could not be used or written; ``problem`` is one of the row's."""
        self._instruments.counter(rows.SNAPSHOT_PROBLEMS).labels(problem).inc()

    def offsets_limit(self, size_bytes: int) -> None:
        """The offsets topic takes records of at most this size."""
        self._instruments.gauge(rows.OFFSETS_MAX_BYTES).set(size_bytes)

    def polled(self, poll: Poll, seconds: float, succeeded_ms: int | None) -> None:
        """A poll took ``seconds`` and was answered at ``succeeded_ms`` (epoch), or failed (None)."""
        self._instruments.histogram(rows.POLL_SECONDS).labels(poll).observe(seconds)
        if succeeded_ms is not None:
            self._instruments.gauge(rows.LAST_POLL).labels(poll).set(succeeded_ms / 1000)

    def text(self, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """Complete families with headers."""
        for part, reason in self._readiness.reasons().items():
            self._instruments.gauge(rows.READY).labels(part).set(int(reason is None))
        for mode, reason in self._readiness.modes().items():
            self._instruments.gauge(rows.DEGRADED).labels(mode).set(int(reason is not None))
        self._instruments.gauge(rows.SERIES_FOLDED).set(self._folded())
        return self._instruments.text(dialect)
