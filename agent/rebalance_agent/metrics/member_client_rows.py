"""Rows of members' clients behind a gateway: each client's library, and the metrics that it pushes (KIP-714)."""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.metrics.metric import ExporterRole, Metric, MetricType
from rebalance_agent.model.events import Callback

__all__ = [
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
    "MEMBER_CLIENT_ROWS",
    "STATS",
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
    "Client library of a member, as the client names it (ApiVersions, KIP-511). Absent for clients without this name.",
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
    "Rebalances of the client that failed since its start. Java only.",
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
    "Time between two calls of poll(), which max.poll.interval.ms limits. Java only.",
    "seconds",
    _STATS,
)
CLIENT_LAST_POLL = _row(
    "last_poll_age_seconds",
    MetricType.GAUGE,
    "Time since the last call of poll() when the client pushed. Java only.",
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
