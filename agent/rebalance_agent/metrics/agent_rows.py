"""Rows of the agent's own metrics, ``rebalance_agent_*``: whether the agent works and whether it reads everything."""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.groupprotocol.tables import RECORDS
from rebalance_agent.metrics.metric import ExporterRole, Metric, MetricType
from rebalance_agent.metrics.short_names import NAME_BYTES_MAX
from rebalance_agent.model.events import EVENT_KINDS

__all__ = [
    "AGENT_ROWS",
    "BASELINES_MALFORMED",
    "BUILD_INFO",
    "CONFIGURED",
    "CONNECTIONS_CUT",
    "DECODE_ERRORS",
    "DEGRADED",
    "DEGRADED_MODES",
    "EVENTS_DROPPED",
    "EVENTS_PUBLISHED",
    "EVENTS_RECEIVED",
    "GROUPS_LEFT_OUT",
    "GROUP_OVER_BUDGET",
    "LAST_POLL",
    "LAST_SNAPSHOT",
    "LOADS_LEFT_OUT",
    "NAMES_SHORTENED",
    "OBSERVATION_AGE",
    "OFFSETS_MAX_BYTES",
    "OTLP_EXPORTS",
    "OVER_BUDGET",
    "OWNED_PARTITIONS",
    "OWNERSHIP_CHANGES",
    "POLL_SECONDS",
    "READY",
    "READ_BYTES",
    "READ_RECORDS",
    "RECONNECTS",
    "REPLAYED_RECORDS",
    "REQUESTS_REJECTED",
    "SERIES_FOLDED",
    "SNAPSHOT_BYTES",
    "SNAPSHOT_PROBLEMS",
    "TAIL_LAG",
    "UNKNOWN_RECORDS",
    "UNKNOWN_TAGS",
    "agent_row",
]

OTHER = "other"
"""Label value for everything that is not in a label's fixed set of values."""

POLL_BUCKETS = (0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0, 30.0)
"""Upper bounds in seconds: ListGroups takes about a millisecond per broker, and a client's usual timeout is 30 s."""


def agent_row(
    name: str,
    kind: MetricType,
    role: ExporterRole,
    text: str,
    unit: str = "",
    values: Mapping[str, tuple[str, ...]] | None = None,
    buckets: tuple[float, ...] = (),
) -> Metric:
    """Return a catalogue row named ``rebalance_agent_`` + ``name``; ``values``: label -> its fixed set of values."""
    closed = values or {}
    return Metric(f"rebalance_agent_{name}", kind, role, text, tuple(closed), unit, closed, buckets)


_POLLS = {"poll": ("list", "list_all", "describe", "topics", "loads")}
_KINDS = {"kind": tuple(EVENT_KINDS)}
_SINKS = ("kafka", "file", "webhook", "otlp")

BUILD_INFO = Metric(
    "rebalance_agent_build_info",
    MetricType.INFO,
    ExporterRole.AGENT,
    "Version of the agent and of its Python; always 1.",
    ("version", "python", "role"),
    values={"role": (ExporterRole.OBSERVER, ExporterRole.SIDECAR, ExporterRole.GATEWAY)},
)
CONFIGURED = agent_row(
    "configured",
    MetricType.GAUGE,
    ExporterRole.AGENT,
    "1 if a Kafka cluster is configured, otherwise 0. For a sidecar or gateway, 1 also means that events are "
    "published. An observer with 0 is idle.",
)
READY = Metric(
    "rebalance_agent_ready",
    MetricType.GAUGE,
    ExporterRole.AGENT,
    "1 for each part that works, 0 for each part that does not work.",
    ("part",),
)
DEGRADED_MODES = (
    "admin-only",
    "baselines-unread",
    "epochs-hidden",
    "events-unpublished",
    "groups-hidden",
    "limit-unknown",
    "members-unheard",
    "state-unsaved",
    "topics-hidden",
    "unshared",
)
"""Modes in which the agent runs although it lacks a permission; `runtime.settings.rights` names the permissions."""

DEGRADED = agent_row(
    "degraded",
    MetricType.GAUGE,
    ExporterRole.AGENT,
    "1 for each active degraded mode (a permission is missing, or a request is refused), 0 for each other mode.",
    values={"mode": DEGRADED_MODES},
)
RECONNECTS = agent_row(
    "reconnects_total", MetricType.COUNTER, ExporterRole.AGENT, "Reconnections to the cluster after a lost connection."
)
EVENTS_RECEIVED = agent_row(
    "events_received_total", MetricType.COUNTER, ExporterRole.AGENT, "Events received from members.", "events", _KINDS
)
EVENTS_MALFORMED = agent_row(
    "events_malformed_total",
    MetricType.COUNTER,
    ExporterRole.OBSERVER,
    "Invalid records of the events topic.",
    "records",
)
BASELINES_MALFORMED = agent_row(
    "baselines_malformed_total",
    MetricType.COUNTER,
    ExporterRole.OBSERVER,
    "Invalid records of the baselines topic.",
    "records",
)
EVENTS_PUBLISHED = agent_row(
    "events_published_total",
    MetricType.COUNTER,
    ExporterRole.AGENT,
    "Delivered events: acknowledged by Kafka, written to the file, or accepted by the webhook; otlp: accepted by the "
    "collector, as spans.",
    "events",
    _KINDS | {"sink": _SINKS},
)
EVENTS_DROPPED = agent_row(
    "events_dropped_total",
    MetricType.COUNTER,
    ExporterRole.AGENT,
    "Lost events, by the place of the loss. member: a consumer's queue was full, as the consumer reports; agent: the "
    "agent's queue was full while the cluster did not respond; the name of a sink: the events were lost on the way to "
    "that sink.",
    "events",
    {"where": ("member", "agent", *_SINKS)},
)
OTLP_EXPORTS = agent_row(
    "otlp_exports_total",
    MetricType.COUNTER,
    ExporterRole.AGENT,
    "Exports of all metrics over OTLP. accepted: the collector accepted the export; failed: the collector did not "
    "accept it; the next export contains all counts.",
    "exports",
    {"outcome": ("accepted", "failed")},
)
REQUESTS_REJECTED = agent_row(
    "requests_rejected_total",
    MetricType.COUNTER,
    ExporterRole.AGENT,
    "Rejected POST requests with events, by HTTP status.",
    "requests",
    {"status": ("400", "401", "403", "404", "405", "411", "413", "429", "503")},
)
CONNECTIONS_CUT = agent_row(
    "connections_cut_total",
    MetricType.COUNTER,
    ExporterRole.AGENT,
    "Connections of HTTP clients that the agent closed. slow_head, slow_body: the head or body of a request did not "
    "arrive completely in time; slow_answer: the client did not read the response in time, or other connections "
    "needed its memory; room: the connection was idle while another connection needed its place; refused: too many "
    "open connections or requests.",
    "connections",
    {"reason": ("slow_head", "slow_body", "slow_answer", "room", "refused")},
)
SERIES_FOLDED = agent_row(
    "series_folded",
    MetricType.GAUGE,
    ExporterRole.AGENT,
    "Label sets that are currently folded into another series because of limits.",
)
NAMES_SHORTENED = agent_row(
    "names_shortened",
    MetricType.GAUGE,
    ExporterRole.AGENT,
    f"Names longer than {NAME_BYTES_MAX} bytes, which are shortened in label values.",
)
GROUPS_LEFT_OUT = agent_row(
    "groups_left_out",
    MetricType.GAUGE,
    ExporterRole.OBSERVER,
    "Groups without series on /metrics, because the page would have more than max_metrics_bytes; the largest groups "
    "are left out.",
)
READ_RECORDS = agent_row(
    "read_records_total", MetricType.COUNTER, ExporterRole.OBSERVER, "Records read from the offsets topic.", "records"
)
READ_BYTES = agent_row(
    "read_bytes_total",
    MetricType.COUNTER,
    ExporterRole.OBSERVER,
    "Bytes read from the offsets topic, keys and values.",
    "bytes",
)
DECODE_ERRORS = agent_row(
    "decode_errors_total",
    MetricType.COUNTER,
    ExporterRole.OBSERVER,
    "Records that do not match their schema, by key version; other: the key has no version.",
    "records",
    {"key_version": (*map(str, sorted(RECORDS)), OTHER)},
)
UNKNOWN_RECORDS = agent_row(
    "unknown_records_total",
    MetricType.COUNTER,
    ExporterRole.OBSERVER,
    "Skipped records with an unknown version of the key or the value.",
    "records",
    {"unknown": ("key_version", "value_version")},
)
UNKNOWN_TAGS = agent_row(
    "unknown_tagged_fields_total",
    MetricType.COUNTER,
    ExporterRole.OBSERVER,
    "Skipped tagged fields that this version does not support; the other fields of these records are used.",
    "fields",
)
TAIL_LAG = agent_row(
    "tail_lag_records",
    MetricType.GAUGE,
    ExporterRole.OBSERVER,
    "Records between the last read record and the end of the offsets topic.",
    "records",
)
OVER_BUDGET = agent_row(
    "over_budget_records_total",
    MetricType.COUNTER,
    ExporterRole.OBSERVER,
    "Records of groups that cause more work than a group's share (a quarter of a CPU), or of new groups beyond "
    "max_state_bytes. waited: processed later; skipped: not processed; unreported: the group is shown, but its "
    "rebalances are not reported.",
    "records",
    {"outcome": ("waited", "skipped", "unreported")},
)
GROUP_OVER_BUDGET = Metric(
    "rebalance_agent_group_over_budget",
    MetricType.GAUGE,
    ExporterRole.OBSERVER,
    "1 for each group (at most 40) that exceeded its share in the last 5 minutes: its records waited, or its "
    "rebalances were not reported.",
    ("consumergroup",),
)
OBSERVATION_AGE = agent_row(
    "observation_age_seconds",
    MetricType.GAUGE,
    ExporterRole.OBSERVER,
    "How long the oldest record or poll has waited to be processed: the delay of all groups' data.",
    "seconds",
)
OFFSETS_MAX_BYTES = agent_row(
    "offsets_message_max_bytes",
    MetricType.GAUGE,
    ExporterRole.OBSERVER,
    "max.message.bytes of the offsets topic, which limits kafka_rebalance_group_metadata_bytes; absent if the "
    "observer does not have the permission DescribeConfigs on the topic.",
    "bytes",
)
LOADS_LEFT_OUT = agent_row(
    "loads_left_out_partitions",
    MetricType.GAUGE,
    ExporterRole.OBSERVER,
    "Partitions whose lag and rate are not read because there are too many; absent unless lag_groups is set.",
    "partitions",
)
OWNED_PARTITIONS = agent_row(
    "owned_partitions",
    MetricType.GAUGE,
    ExporterRole.OBSERVER,
    "Partitions of the offsets topic whose groups this observer exports: all, unless replicas share them.",
    "partitions",
)
OWNERSHIP_CHANGES = agent_row(
    "ownership_changes_total",
    MetricType.COUNTER,
    ExporterRole.OBSERVER,
    "How often the set of owned partitions of the offsets topic changed.",
    "changes",
)
REPLAYED_RECORDS = agent_row(
    "replayed_records_total",
    MetricType.COUNTER,
    ExporterRole.OBSERVER,
    "Group records newer than a snapshot that were read again, because of a start or a takeover.",
    "records",
)
SNAPSHOT_BYTES = agent_row(
    "snapshot_written_bytes_total",
    MetricType.COUNTER,
    ExporterRole.OBSERVER,
    "Bytes of records written to snapshots.",
    "bytes",
)
LAST_SNAPSHOT = agent_row(
    "last_snapshot_timestamp_seconds",
    MetricType.GAUGE,
    ExporterRole.OBSERVER,
    "Unix time of the last acknowledged snapshot of a partition. Before the first snapshot, this is the time at which "
    "the first snapshot became due.",
    "seconds",
)
SNAPSHOT_PROBLEMS = agent_row(
    "snapshot_problems_total",
    MetricType.COUNTER,
    ExporterRole.OBSERVER,
    "Snapshots that could not be read (the offsets topic was read from its beginning instead) or could not be written.",
    "problems",
    {"problem": ("unreadable", "malformed", "foreign", "out_of_range", "too_large", "write")},
)
POLL_SECONDS = agent_row(
    "poll_duration_seconds",
    MetricType.HISTOGRAM,
    ExporterRole.OBSERVER,
    "Duration of polls.",
    "seconds",
    _POLLS,
    POLL_BUCKETS,
)
LAST_POLL = agent_row(
    "last_poll_timestamp_seconds",
    MetricType.GAUGE,
    ExporterRole.OBSERVER,
    "Unix time of the last successful poll.",
    "seconds",
    _POLLS,
)

AGENT_ROWS: tuple[Metric, ...] = (
    BUILD_INFO,
    CONFIGURED,
    READY,
    DEGRADED,
    RECONNECTS,
    EVENTS_RECEIVED,
    EVENTS_MALFORMED,
    BASELINES_MALFORMED,
    EVENTS_PUBLISHED,
    EVENTS_DROPPED,
    OTLP_EXPORTS,
    REQUESTS_REJECTED,
    CONNECTIONS_CUT,
    SERIES_FOLDED,
    NAMES_SHORTENED,
    GROUPS_LEFT_OUT,
    READ_RECORDS,
    READ_BYTES,
    DECODE_ERRORS,
    UNKNOWN_RECORDS,
    UNKNOWN_TAGS,
    TAIL_LAG,
    OVER_BUDGET,
    GROUP_OVER_BUDGET,
    OBSERVATION_AGE,
    OFFSETS_MAX_BYTES,
    LOADS_LEFT_OUT,
    OWNED_PARTITIONS,
    OWNERSHIP_CHANGES,
    REPLAYED_RECORDS,
    SNAPSHOT_BYTES,
    LAST_SNAPSHOT,
    SNAPSHOT_PROBLEMS,
    POLL_SECONDS,
    LAST_POLL,
)
"""Rows in the order of /metrics and the documentation; a process exports the rows of its role and of ``agent``."""
