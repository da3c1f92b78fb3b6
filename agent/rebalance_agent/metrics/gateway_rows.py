"""Rows of the gateway's metrics: connections, forwarded bytes, added latency, refusals, changed group frames."""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.metrics.agent_rows import OTHER, agent_row
from rebalance_agent.metrics.metric import ExporterRole, MetricType

__all__ = [
    "DIRECTIONS",
    "GATEWAY_BROKERS",
    "GATEWAY_BROKERS_SHUT",
    "GATEWAY_BYTES",
    "GATEWAY_CONNECTIONS",
    "GATEWAY_CONNECTIONS_TOTAL",
    "GATEWAY_OUTCOMES",
    "GATEWAY_PASS_SECONDS",
    "GATEWAY_READ_SECONDS",
    "GATEWAY_REFUSED",
    "GATEWAY_ROWS",
    "READ_APIS",
]

READ_APIS: Mapping[int, str] = {
    0: "Produce",
    3: "Metadata",
    8: "OffsetCommit",
    10: "FindCoordinator",
    11: "JoinGroup",
    12: "Heartbeat",
    13: "LeaveGroup",
    14: "SyncGroup",
    18: "ApiVersions",
    28: "TxnOffsetCommit",
    60: "DescribeCluster",
    68: "ConsumerGroupHeartbeat",
}
"""API key -> Kafka's name of the requests that the gateway decodes; it forwards all others undecoded."""

READ_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.01, 0.1, 1.0)
"""Upper bounds in seconds: decoding takes about 50 microseconds, assigning a large group seconds."""

PASS_BUCKETS = (0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.01, 0.1, 1.0)
"""Upper bounds in seconds: a read and a write take about 30 microseconds; slow readers delay frames for longer."""

DIRECTIONS = ("requests", "answers")
"""Values of the label ``direction``: from clients to brokers, and from brokers to clients."""


GATEWAY_CONNECTIONS = agent_row(
    "gateway_connections",
    MetricType.GAUGE,
    ExporterRole.GATEWAY,
    "Connections of clients that are open.",
    "connections",
)
GATEWAY_CONNECTIONS_TOTAL = agent_row(
    "gateway_connections_opened_total",
    MetricType.COUNTER,
    ExporterRole.GATEWAY,
    "Connections of clients that were taken.",
    "connections",
)
GATEWAY_BYTES = agent_row(
    "gateway_bytes_total",
    MetricType.COUNTER,
    ExporterRole.GATEWAY,
    "Bytes sent on: requests to brokers, answers to clients.",
    "bytes",
    {"direction": DIRECTIONS},
)
GATEWAY_PASS_SECONDS = agent_row(
    "gateway_pass_seconds",
    MetricType.HISTOGRAM,
    ExporterRole.GATEWAY,
    "What the gateway added to frames that passed unread, from their last byte in to their last byte out; those that "
    "went on together count once, and the wait for a side that does not read counts in.",
    "seconds",
    {"direction": DIRECTIONS},
    PASS_BUCKETS,
)
GATEWAY_READ_SECONDS = agent_row(
    "gateway_read_seconds",
    MetricType.HISTOGRAM,
    ExporterRole.GATEWAY,
    "What the gateway added to each frame that it read, from its last byte in to its last byte out.",
    "seconds",
    {"api": (*READ_APIS.values(), OTHER)},
    READ_BUCKETS,
)
GATEWAY_REFUSED = agent_row(
    "gateway_refused_total",
    MetricType.COUNTER,
    ExporterRole.GATEWAY,
    "Connections that the gateway ended. failed: an error of its own; malformed, mismatched, oversized, truncated: "
    "what came is not Kafka's protocol; room: too many were open, or there were too many large frames that are read; "
    "sasl_v0: a handshake that raw bytes would follow; slow: a frame that is read did not arrive in time, or was not "
    "taken while others waited for its room; stuck: one side was gone, and the other took or gave nothing; tls: no "
    "handshake; unreachable: no broker took the connection.",
    "connections",
    {
        "reason": (
            "failed",
            "malformed",
            "mismatched",
            "oversized",
            "room",
            "sasl_v0",
            "slow",
            "stuck",
            "tls",
            "truncated",
            "unreachable",
        )
    },
)
GATEWAY_BROKERS = agent_row(
    "gateway_brokers", MetricType.GAUGE, ExporterRole.GATEWAY, "Brokers that have a port of their own.", "brokers"
)
GATEWAY_BROKERS_SHUT = agent_row(
    "gateway_brokers_shut",
    MetricType.GAUGE,
    ExporterRole.GATEWAY,
    "Brokers that are down to clients here, since their port cannot be listened on or their address is none.",
    "brokers",
)

GATEWAY_OUTCOMES = agent_row(
    "gateway_group_frames_total",
    MetricType.COUNTER,
    ExporterRole.GATEWAY,
    "What became of JoinGroup and SyncGroup of groups that a rule names. offered: our strategy was put before the "
    "client's own; misfit, foreign: it was not, since it does not fit the client; chosen, not_chosen: the group runs "
    "by it, or by one that all members offer; assigned: the leader's assignment is ours; assign_failed, assign_late: "
    "it is the client's own; sent_back: the client was told to join again; failed: the client's own bytes went on.",
    "frames",
    {
        "outcome": (
            "assign_failed",
            "assign_late",
            "assigned",
            "chosen",
            "failed",
            "foreign",
            "misfit",
            "not_chosen",
            "offered",
            "sent_back",
        )
    },
)

GATEWAY_ROWS = (
    GATEWAY_CONNECTIONS,
    GATEWAY_CONNECTIONS_TOTAL,
    GATEWAY_BYTES,
    GATEWAY_PASS_SECONDS,
    GATEWAY_READ_SECONDS,
    GATEWAY_REFUSED,
    GATEWAY_BROKERS,
    GATEWAY_BROKERS_SHUT,
    GATEWAY_OUTCOMES,
)
"""In the order of /metrics and of the documentation."""
