"""Rows of clients behind a gateway: each member's library, the metrics that it pushes (KIP-714), and share groups."""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.metrics.metric import ExporterRole, Metric, MetricType
from rebalance_agent.model.events import Callback

__all__ = [
    "ACKNOWLEDGE_TYPES",
    "CLIENT_CALLBACK",
    "CLIENT_COMMIT",
    "CLIENT_FAILED_REBALANCES",
    "CLIENT_IDLE",
    "CLIENT_INFO",
    "CLIENT_LAST_POLL",
    "CLIENT_POLL_INTERVAL",
    "CLIENT_POLL_LIMIT",
    "CLIENT_REBALANCE",
    "CLIENT_REBALANCING",
    "DELIVERIES",
    "MEMBER_CLIENT_ROWS",
    "SHARE_ACKNOWLEDGED",
    "SHARE_ACQUIRED",
    "SHARE_ROWS",
    "STATS",
    "delivery_label",
]

STATS = ("avg", "max")
"""Values of the label ``stat``, over the client's own window. For librdkafka, the window is the time since the last
push; for Java, it is 60 seconds."""

_CLIENT = ("consumergroup", "client_id", "host")
_STATS: Mapping[str, tuple[str, ...]] = {"stat": STATS}


def _row(
    name: str, kind: MetricType, text: str, unit: str, values: Mapping[str, tuple[str, ...]] | None = None
) -> Metric:
    labels = (*_CLIENT, *(values or {}))
    return Metric(
        f"kafka_rebalance_member_client_{name}", kind, ExporterRole.GATEWAY, text, labels, unit, values=values or {}
    )


CLIENT_INFO = Metric(
    "kafka_rebalance_member_client_info",
    MetricType.INFO,
    ExporterRole.GATEWAY,
    "Name and version of a member's client library, as sent by the client (ApiVersions, KIP-511). Absent if the client "
    "sends no name.",
    (*_CLIENT, "software", "version"),
)
CLIENT_POLL_LIMIT = _row(
    "poll_limit_seconds",
    MetricType.GAUGE,
    "Rebalance timeout that a member sent when it joined: its max.poll.interval.ms. A member that does not call "
    "poll() for this time leaves its group.",
    "seconds",
)
CLIENT_REBALANCE = _row(
    "rebalance_seconds", MetricType.GAUGE, "Duration of rebalances as the client measures it.", "seconds", _STATS
)
CLIENT_REBALANCING = _row(
    "rebalancing_seconds_total",
    MetricType.COUNTER,
    "Time that the client spent in rebalances since its start.",
    "seconds",
)
CLIENT_FAILED_REBALANCES = _row(
    "failed_rebalances_total",
    MetricType.COUNTER,
    "Rebalances that failed since the client's start, as the client counts them. Java only.",
    "rebalances",
)
CLIENT_CALLBACK = _row(
    "callback_seconds",
    MetricType.GAUGE,
    "Duration of the application's rebalance callbacks. Java only.",
    "seconds",
    {"callback": (Callback.REVOKED, Callback.ASSIGNED, Callback.LOST), **_STATS},
)
CLIENT_POLL_INTERVAL = _row(
    "poll_interval_seconds",
    MetricType.GAUGE,
    "Time between two calls to poll(), which max.poll.interval.ms limits. Java only.",
    "seconds",
    _STATS,
)
CLIENT_LAST_POLL = _row(
    "last_poll_age_seconds",
    MetricType.GAUGE,
    "Time from the client's last call to poll() to its push of this value. Java only.",
    "seconds",
)
CLIENT_IDLE = _row(
    "poll_idle_ratio",
    MetricType.GAUGE,
    "Share of time that the consumer's thread spends in poll(): 0 if the thread only processes, 1 if it only waits.",
    "ratio",
)
CLIENT_COMMIT = _row("commit_seconds", MetricType.GAUGE, "Duration of offset commits.", "seconds", _STATS)

MEMBER_CLIENT_ROWS: tuple[Metric, ...] = (
    CLIENT_INFO,
    CLIENT_POLL_LIMIT,
    CLIENT_REBALANCE,
    CLIENT_REBALANCING,
    CLIENT_FAILED_REBALANCES,
    CLIENT_CALLBACK,
    CLIENT_POLL_INTERVAL,
    CLIENT_LAST_POLL,
    CLIENT_IDLE,
    CLIENT_COMMIT,
)
"""In the order of /metrics and of the documentation."""

_DELIVERIES_MAX = 5
"""The highest delivery count with a value of its own: the broker's default of group.share.delivery.count.limit."""

_MORE = "more"

DELIVERIES = (*map(str, range(1, _DELIVERIES_MAX + 1)), _MORE)
"""Values of the label ``delivery``: the delivery count of the records."""

ACKNOWLEDGE_TYPES = ("accept", "gap", "reject", "release", "renew")
"""Values of the label ``type``: Kafka's acknowledge types."""


def delivery_label(delivery_count: int) -> str:
    """Return the value of the label ``delivery`` for a delivery count."""
    return str(max(1, delivery_count)) if delivery_count <= _DELIVERIES_MAX else _MORE


def _share_row(name: str, text: str, values: Mapping[str, tuple[str, ...]]) -> Metric:
    labels = ("consumergroup", *values)
    return Metric(
        f"kafka_rebalance_share_{name}", MetricType.COUNTER, ExporterRole.GATEWAY, text, labels, "records", values
    )


SHARE_ACQUIRED = _share_row(
    "acquired_records_total",
    "Records that consumers of a share group acquired through this gateway, by delivery count. 2 and higher: records "
    "that were delivered again, after a release or because the acquisition lock expired. The broker archives a record "
    "that is not accepted at its last delivery (group.share.delivery.count.limit, 5 by default). Control records "
    "count, too.",
    {"delivery": DELIVERIES},
)
SHARE_ACKNOWLEDGED = _share_row(
    "acknowledged_records_total",
    "Records that consumers of a share group acknowledged through this gateway, in partitions for which the broker "
    "returned no error. accept: processed; release: to be delivered again; reject: archived; renew: the acquisition "
    "lock was renewed (KIP-1222); gap: offsets without a record.",
    {"type": ACKNOWLEDGE_TYPES},
)

SHARE_ROWS = (SHARE_ACQUIRED, SHARE_ACKNOWLEDGED)
"""In the order of /metrics and of the documentation."""
