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
    "Open connections of clients.",
    "connections",
)
GATEWAY_CONNECTIONS_TOTAL = agent_row(
    "gateway_connections_opened_total",
    MetricType.COUNTER,
    ExporterRole.GATEWAY,
    "Accepted connections of clients.",
    "connections",
)
GATEWAY_BYTES = agent_row(
    "gateway_bytes_total",
    MetricType.COUNTER,
    ExporterRole.GATEWAY,
    "Forwarded bytes: requests to brokers, answers to clients.",
    "bytes",
    {"direction": DIRECTIONS},
)
GATEWAY_PASS_SECONDS = agent_row(
    "gateway_pass_seconds",
    MetricType.HISTOGRAM,
    ExporterRole.GATEWAY,
    "Latency that the gateway added to frames that it forwarded unread, from the last byte in to the last byte out. "
    "Frames that were forwarded together count once; waiting for a slow receiver is included.",
    "seconds",
    {"direction": DIRECTIONS},
    PASS_BUCKETS,
)
GATEWAY_READ_SECONDS = agent_row(
    "gateway_read_seconds",
    MetricType.HISTOGRAM,
    ExporterRole.GATEWAY,
    "Latency that the gateway added to each frame that it read, from the last byte in to the last byte out.",
    "seconds",
    {"api": (*READ_APIS.values(), OTHER)},
    READ_BUCKETS,
)
GATEWAY_REFUSED = agent_row(
    "gateway_refused_total",
    MetricType.COUNTER,
    ExporterRole.GATEWAY,
    "Connections that the gateway closed. failed: an error in the gateway; malformed, mismatched, oversized, "
    "truncated: the data is not Kafka's protocol; room: too many open connections, or too many large frames in "
    "memory; sasl_v0: a SASL handshake with unframed bytes; slow: a frame that is read did not arrive in time, or "
    "was not received while others waited for its memory; stuck: one side disconnected, and the other neither "
    "received nor sent data; tls: the handshake failed; unreachable: no broker accepted the connection.",
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
    "gateway_brokers", MetricType.GAUGE, ExporterRole.GATEWAY, "Brokers with a port in the gateway.", "brokers"
)
GATEWAY_BROKERS_SHUT = agent_row(
    "gateway_brokers_shut",
    MetricType.GAUGE,
    ExporterRole.GATEWAY,
    "Brokers that clients cannot reach, because the gateway cannot listen on their port or their address is invalid.",
    "brokers",
)

GATEWAY_OUTCOMES = agent_row(
    "gateway_group_frames_total",
    MetricType.COUNTER,
    ExporterRole.GATEWAY,
    "JoinGroup and SyncGroup of groups with a rule, by result. offered: the strategy was inserted before the "
    "client's own assignors; misfit, foreign: it was not, because it does not match the client; chosen, not_chosen: "
    "the generation uses the strategy, or an assignor that all members offer; assigned: the leader's assignment was "
    "replaced; assign_failed, assign_late: it was not replaced; sent_back: the client has to rejoin; failed: the "
    "client's bytes were forwarded unchanged.",
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
