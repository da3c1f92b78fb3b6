"""Rows of the gateway's metrics: connections, forwarded bytes, added latency, refusals and changed group frames."""

from __future__ import annotations

from collections.abc import Mapping

from rebalance_agent.metrics.agent_rows import OTHER, agent_row
from rebalance_agent.metrics.metric import ExporterRole, MetricType

__all__ = [
    "DIRECTIONS",
    "GATEWAY_ACTS",
    "GATEWAY_BROKERS",
    "GATEWAY_BROKERS_SHUT",
    "GATEWAY_BYTES",
    "GATEWAY_CONNECTIONS",
    "GATEWAY_CONNECTIONS_TOTAL",
    "GATEWAY_OUTCOMES",
    "GATEWAY_PASS_SECONDS",
    "GATEWAY_PUSHES",
    "GATEWAY_PUSHES_PASSED",
    "GATEWAY_PUSH_ENDS",
    "GATEWAY_READ_SECONDS",
    "GATEWAY_REFUSED",
    "GATEWAY_ROWS",
    "GATEWAY_SEATS_HELD",
    "GATEWAY_SEATS_KEPT_SECONDS",
    "GATEWAY_SEATS_OFF",
    "GATEWAY_SEATS_SPARED",
    "GATEWAY_SEATS_SPARED_SECONDS",
    "GATEWAY_SEATS_VACANT",
    "GATEWAY_SEATS_WRONG",
    "PUSH_ENDS",
    "READ_APIS",
    "SEAT_MODES",
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
    71: "GetTelemetrySubscriptions",
    72: "PushTelemetry",
    76: "ShareGroupHeartbeat",
    78: "ShareFetch",
    79: "ShareAcknowledge",
    88: "StreamsGroupHeartbeat",
}
"""API key -> Kafka's name for requests that the gateway decodes; the gateway forwards other requests undecoded."""

READ_BUCKETS = (0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.01, 0.1, 1.0)
"""Upper bounds in seconds: decoding takes about 50 microseconds; assigning a large group takes seconds."""

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
    "Forwarded bytes: requests to brokers, responses to clients.",
    "bytes",
    {"direction": DIRECTIONS},
)
GATEWAY_PASS_SECONDS = agent_row(
    "gateway_pass_seconds",
    MetricType.HISTOGRAM,
    ExporterRole.GATEWAY,
    "Latency that the gateway added to frames that it did not parse, from the last byte received to the last byte "
    "sent. Frames that were forwarded together count once; waiting for a slow receiver is included.",
    "seconds",
    {"direction": DIRECTIONS},
    PASS_BUCKETS,
)
GATEWAY_READ_SECONDS = agent_row(
    "gateway_read_seconds",
    MetricType.HISTOGRAM,
    ExporterRole.GATEWAY,
    "Latency that the gateway added to each frame that it parsed, from the last byte received to the last byte sent.",
    "seconds",
    {"api": (*READ_APIS.values(), OTHER)},
    READ_BUCKETS,
)
GATEWAY_REFUSED = agent_row(
    "gateway_refused_total",
    MetricType.COUNTER,
    ExporterRole.GATEWAY,
    "Connections that the gateway closed. failed: an error in the gateway; malformed, mismatched, oversized, "
    "truncated: the data does not follow Kafka's protocol; room: too many open connections, or too many large frames "
    "in memory; sasl_v0: a SASL handshake with unframed bytes; slow: a frame that the gateway parses did not arrive "
    "in time, or used memory for too long while other frames waited for memory; stuck: one side disconnected, and the "
    "other neither received nor sent data; tls: the handshake failed; unreachable: no broker accepted the connection.",
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
    "gateway_brokers", MetricType.GAUGE, ExporterRole.GATEWAY, "Brokers that have a port in the gateway.", "brokers"
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
    "JoinGroup and SyncGroup requests of groups with a rule, by result. offered: the strategy was inserted before the "
    "client's own assignors; misfit: it was not inserted, because it is eager and the client is cooperative, or the "
    "reverse; foreign: it was not inserted, because the client (such as Kafka Connect) does not use assignors of "
    "consumers; chosen: the generation uses the strategy; not_chosen: the generation uses another assignor, which all "
    "members offer; assigned: the leader's assignment was replaced; assign_failed: the strategy failed, so the "
    "leader's assignment was not replaced; assign_late: the strategy took too long, so the leader's assignment was not "
    "replaced; sent_back: the client has to rejoin; failed: the client's bytes were forwarded unchanged.",
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

PUSH_ENDS = ("terminated", "silent")
"""Values of the label ``end``: how a client that pushed telemetry ended."""

GATEWAY_PUSHES = agent_row(
    "gateway_telemetry_pushes_total",
    MetricType.COUNTER,
    ExporterRole.GATEWAY,
    "Pushes of client telemetry (gateway_telemetry) by result. accepted: the gateway uses the values; invalid: the "
    "push is not OTLP, and the client stops pushing; throttled: the push came too early, or too many clients push; "
    "too_large: the push has more bytes or fields than allowed; unknown_subscription: the settings have changed, and "
    "the client requests them; unsupported_compression: the push is compressed, but not with gzip.",
    "pushes",
    {
        "outcome": (
            "accepted",
            "invalid",
            "throttled",
            "too_large",
            "unknown_subscription",
            "unsupported_compression",
        )
    },
)
GATEWAY_PUSHES_PASSED = agent_row(
    "gateway_telemetry_passed_total",
    MetricType.COUNTER,
    ExporterRole.GATEWAY,
    "Accepted pushes of client telemetry for the OTLP endpoint (gateway_telemetry_pass). delivered: the "
    "collector accepted the push; failed: the collector refused it or did not respond; dropped: too many pushes were "
    "waiting.",
    "pushes",
    {"outcome": ("delivered", "failed", "dropped")},
)
GATEWAY_PUSH_ENDS = agent_row(
    "gateway_telemetry_ends_total",
    MetricType.COUNTER,
    ExporterRole.GATEWAY,
    "Clients that pushed telemetry and stopped. terminated: the client was closed, and marked its last push as such; "
    "silent: the client has not pushed for three intervals, for example after a crash.",
    "clients",
    {"end": PUSH_ENDS},
)

SEAT_MODES = ("on", "observe")
"""Values of the label ``mode``: whether the change happened or would have happened."""

GATEWAY_ACTS = agent_row(
    "gateway_acts_total",
    MetricType.COUNTER,
    ExporterRole.GATEWAY,
    "Acts of the gateway on seats. Acts: hold: the gateway held the JoinGroup of a newcomer (in groups of KIP-848: its "
    "first heartbeat); seat: a newcomer joined with a new seat; admit: a newcomer joined after it had waited "
    "until the next multiple of gateway_admission_seconds; handover: a newcomer took the seat of its predecessor; "
    "claim: the gateway requested the lock of a seat that a gateway offers; pass_join: the JoinGroup was forwarded "
    "unchanged; keep: the gateway answered a leave and kept the seat; give_up: the gateway removed the member of a "
    "seat without a consumer; pass_leave: the leave was forwarded unchanged; restore: a member continued with the "
    "seat that it had before the gateway restarted. Outcomes: done: without an error; failed: an error in the "
    "gateway, or no response; refused: the coordinator refused the act; predicted: the act would have been done "
    "(mode 'observe'). "
    "Acts with outcome done are counted again once their result is known. right: a handover caused no rebalance, "
    "newcomers that were admitted together caused one rebalance, a newcomer took a kept seat, or a killed "
    "consumer whose seat was given up sent no more requests; wrong: the opposite; unknown: neither can be proven.",
    "acts",
    {
        "act": ("admit", "claim", "give_up", "handover", "hold", "keep", "pass_join", "pass_leave", "restore", "seat"),
        "outcome": ("done", "failed", "predicted", "refused", "right", "unknown", "wrong"),
    },
)
GATEWAY_SEATS_SPARED = agent_row(
    "gateway_seats_rebalances_spared_total",
    MetricType.COUNTER,
    ExporterRole.GATEWAY,
    "Rebalances that did not happen (mode 'on') or would not have happened (mode 'observe'), because a consumer took "
    "the seat of its predecessor, or newcomers joined together. A lower bound: one rebalance for each handover (in "
    "mode 'on': for each right handover), and one for each newcomer that would have joined after the previous "
    "newcomer's rebalance.",
    "rebalances",
    {"mode": SEAT_MODES},
)
GATEWAY_SEATS_SPARED_SECONDS = agent_row(
    "gateway_seats_spared_partition_seconds_total",
    MetricType.COUNTER,
    ExporterRole.GATEWAY,
    "Time by which partitions of killed consumers became available earlier than without the gateway, summed over "
    "partitions: a lower bound, counted when the session would have ended. Stalls of avoided rebalances are not "
    "included.",
    "seconds",
)
GATEWAY_SEATS_KEPT_SECONDS = agent_row(
    "gateway_seats_partition_seconds_total",
    MetricType.COUNTER,
    ExporterRole.GATEWAY,
    "Time for which seats were vacant (without a consumer), summed over their partitions: an upper bound of the stall "
    "that seats caused.",
    "seconds",
    {"mode": SEAT_MODES},
)
GATEWAY_SEATS_WAITED_SECONDS = agent_row(
    "gateway_seats_waited_seconds_total",
    MetricType.COUNTER,
    ExporterRole.GATEWAY,
    "Time for which newcomers waited (mode 'on') or would have waited (mode 'observe') after the hold, summed over "
    "newcomers. Newcomers join together when the clock reaches a multiple of gateway_admission_seconds, so they start "
    "to consume later by this time.",
    "seconds",
    {"mode": SEAT_MODES},
)
GATEWAY_SEATS_HELD = agent_row(
    "gateway_seats_held_joins",
    MetricType.GAUGE,
    ExporterRole.GATEWAY,
    "JoinGroups, and first heartbeats in KIP-848 groups, that the gateway holds until a predecessor leaves or until "
    "the next time at which newcomers join together.",
    "requests",
)
GATEWAY_SEATS_VACANT = agent_row(
    "gateway_seats_vacant",
    MetricType.GAUGE,
    ExporterRole.GATEWAY,
    "Seats without a consumer that the gateway keeps.",
    "seats",
)
GATEWAY_SEATS_OFF = agent_row(
    "gateway_seats_switched_off",
    MetricType.GAUGE,
    ExporterRole.GATEWAY,
    "1 if the file gateway_seats_switch_file switches the seats of all groups off, otherwise 0.",
    "",
)
GATEWAY_SEATS_WRONG = agent_row(
    "gateway_seats_wrong_groups",
    MetricType.GAUGE,
    ExporterRole.GATEWAY,
    "Groups with mode 'on' whose seats the gateway only observes until it restarts, because three handovers or joint "
    "admissions in a row were wrong.",
    "groups",
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
    GATEWAY_PUSHES,
    GATEWAY_PUSHES_PASSED,
    GATEWAY_PUSH_ENDS,
    GATEWAY_ACTS,
    GATEWAY_SEATS_SPARED,
    GATEWAY_SEATS_SPARED_SECONDS,
    GATEWAY_SEATS_KEPT_SECONDS,
    GATEWAY_SEATS_WAITED_SECONDS,
    GATEWAY_SEATS_HELD,
    GATEWAY_SEATS_VACANT,
    GATEWAY_SEATS_OFF,
    GATEWAY_SEATS_WRONG,
)
"""In the order of /metrics and of the documentation."""
