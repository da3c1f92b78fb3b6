"""Metrics of the agent itself: is the watcher well, and does it see everything."""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.metrics.metric import Kind, Metric, Role
from rebalance_agent.model.events import EVENT_KINDS

__all__ = [
    "AGENT_ROWS",
    "BUILD_INFO",
    "CONFIGURED",
    "DECODE_ERRORS",
    "EVENTS_DROPPED",
    "EVENTS_PUBLISHED",
    "EVENTS_RECEIVED",
    "LAST_POLL",
    "POLL_SECONDS",
    "READY",
    "READ_BYTES",
    "READ_RECORDS",
    "RECONNECTS",
    "REQUESTS_REJECTED",
    "SERIES_FOLDED",
    "TAIL_LAG",
    "UNKNOWN_RECORDS",
]

OTHER = "other"
"""Label value of everything outside a closed set."""

POLL_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0)
"""Upper bounds in seconds: ListGroups takes about a millisecond per broker, 30 s is a client's usual timeout."""


def _row(
    name: str,
    kind: Kind,
    role: Role,
    text: str,
    unit: str = "",
    values: Mapping[str, tuple[str, ...]] | None = None,
    buckets: tuple[float, ...] = (),
) -> Metric:
    closed = values or {}
    return Metric(f"rebalance_agent_{name}", kind, role, text, tuple(closed), unit, closed, buckets)


_POLLS = {"poll": ("list", "list_all", "describe", "topics")}
_KINDS = {"kind": tuple(EVENT_KINDS)}

BUILD_INFO = Metric(
    "rebalance_agent_build_info",
    Kind.INFO,
    Role.AGENT,
    "Version of the agent and of its Python; always 1.",
    ("version", "python", "role"),
    values={"role": (Role.OBSERVER, Role.SIDECAR)},
)
CONFIGURED = _row("configured", Kind.GAUGE, Role.AGENT, "1 when a Kafka cluster is configured, 0 while idling without.")
READY = Metric(
    "rebalance_agent_ready", Kind.GAUGE, Role.AGENT, "1 for each part that works, 0 for one that does not.", ("part",)
)
RECONNECTS = _row("reconnects_total", Kind.COUNTER, Role.AGENT, "Times that a lost cluster was reached again.")
EVENTS_RECEIVED = _row(
    "events_received_total", Kind.COUNTER, Role.AGENT, "Events taken in from members.", "events", _KINDS
)
EVENTS_MALFORMED = _row(
    "events_malformed_total", Kind.COUNTER, Role.OBSERVER, "Records of the events topic that are no events.", "records"
)
EVENTS_PUBLISHED = _row(
    "events_published_total", Kind.COUNTER, Role.AGENT, "Events that Kafka acknowledged.", "events", _KINDS
)
EVENTS_DROPPED = _row(
    "events_dropped_total",
    Kind.COUNTER,
    Role.AGENT,
    "Events lost. member: in a consumer's full queue, as it reports; agent: before Kafka acknowledged them.",
    "events",
    {"where": ("member", "agent")},
)
REQUESTS_REJECTED = _row(
    "requests_rejected_total",
    Kind.COUNTER,
    Role.SIDECAR,
    "Posts of events that were refused as a whole, by HTTP status.",
    "requests",
    {"status": ("400", "401", "403", "404", "405", "411", "413", "429", "503")},
)
SERIES_FOLDED = _row(
    "series_folded", Kind.GAUGE, Role.AGENT, "Label sets now folded into another series to keep within the bounds."
)
READ_RECORDS = _row(
    "read_records_total", Kind.COUNTER, Role.OBSERVER, "Records read from the offsets topic.", "records"
)
READ_BYTES = _row("read_bytes_total", Kind.COUNTER, Role.OBSERVER, "Bytes of those records, keys and values.", "bytes")
DECODE_ERRORS = _row(
    "decode_errors_total",
    Kind.COUNTER,
    Role.OBSERVER,
    "Records that broke their schema, by key version.",
    "records",
    {"key_version": ("0", "1", "2", OTHER)},
)
UNKNOWN_RECORDS = _row(
    "unknown_records_total",
    Kind.COUNTER,
    Role.OBSERVER,
    "Records passed over because this version does not know their key's or value's version.",
    "records",
    {"unknown": ("key_version", "value_version")},
)
TAIL_LAG = _row(
    "tail_lag_records",
    Kind.GAUGE,
    Role.OBSERVER,
    "Records between the tail and the end of the offsets topic.",
    "records",
)
POLL_SECONDS = _row(
    "poll_duration_seconds", Kind.HISTOGRAM, Role.OBSERVER, "Time of polls.", "seconds", _POLLS, POLL_BUCKETS
)
LAST_POLL = _row(
    "last_poll_timestamp_seconds",
    Kind.GAUGE,
    Role.OBSERVER,
    "When a poll last succeeded, Unix time.",
    "seconds",
    _POLLS,
)

AGENT_ROWS: tuple[Metric, ...] = (
    BUILD_INFO,
    CONFIGURED,
    READY,
    RECONNECTS,
    EVENTS_RECEIVED,
    EVENTS_MALFORMED,
    EVENTS_PUBLISHED,
    EVENTS_DROPPED,
    REQUESTS_REJECTED,
    SERIES_FOLDED,
    READ_RECORDS,
    READ_BYTES,
    DECODE_ERRORS,
    UNKNOWN_RECORDS,
    TAIL_LAG,
    POLL_SECONDS,
    LAST_POLL,
)
"""In the order of the page and of the documentation; a process exports those of its role and of ``agent``."""
