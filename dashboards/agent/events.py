"""The panels on events, and on input that agents skip or reject."""

from __future__ import annotations

from dashboards.agent.queries import counted
from dashboards.parts.panel import Look, Panel

__all__ = ["EVENTS", "REFUSED", "UNREAD"]

EVENTS = Panel(
    14,
    "Events",
    "Are events received and published? **received**: events from members. **published**: events sent to each sink. "
    "**dropped**: lost events, by the place of the loss. **pushes**: pushes of telemetry from clients behind "
    "gateways, by result. **passed on**: pushes that are forwarded to the OTLP endpoint, by result. **clients "
    "ended**: clients that pushed telemetry and then stopped.",
    (
        counted("rebalance_agent_events_received_total", "received {{kind}}", "kind"),
        counted("rebalance_agent_events_published_total", "published {{kind}} to {{sink}}", "kind", "sink"),
        counted("rebalance_agent_events_dropped_total", "dropped {{where}}", "where"),
        counted("rebalance_agent_gateway_telemetry_pushes_total", "pushes {{outcome}}", "outcome"),
        counted("rebalance_agent_gateway_telemetry_passed_total", "passed on {{outcome}}", "outcome"),
        counted("rebalance_agent_gateway_telemetry_ends_total", "clients ended, {{end}}", "end"),
    ),
    Look.COUNTS,
    empty="no agents respond",
)
UNREAD = Panel(
    15,
    "Skipped records and events",
    "Which records and events did the agent skip because they are unknown or broken? Unknown versions and tagged "
    "fields come from a newer Kafka: upgrade the agent. **over budget**: records of groups that cause more work, "
    "or take more memory, than their share. waited: processed later; skipped: not processed; unreported: the group "
    "is shown without its rebalances.",
    (
        counted("rebalance_agent_decode_errors_total", "broken, key version {{key_version}}", "key_version"),
        counted("rebalance_agent_unknown_records_total", "unknown {{unknown}}", "unknown"),
        counted("rebalance_agent_unknown_tagged_fields_total", "unknown tagged fields"),
        counted("rebalance_agent_events_malformed_total", "events malformed"),
        counted("rebalance_agent_baselines_malformed_total", "baselines malformed"),
        counted("rebalance_agent_over_budget_records_total", "over budget, {{outcome}}", "outcome"),
    ),
    Look.COUNTS,
    empty="no observer reads the topic",
)
REFUSED = Panel(
    16,
    "Rejected requests, closed connections",
    "Do agents reject requests or close connections? **status**: rejected posts, by HTTP status; 401 is a wrong "
    "token, 413 a body that is too large, 429 too many requests or events. **closed**: connections that the agent "
    "closed, by reason. **gateway**: connections that a gateway closed, by reason: no broker accepted the connection "
    "(unreachable), the handshake failed (tls), the client does not use Kafka's protocol, or too many clients are "
    "connected.",
    (
        counted("rebalance_agent_requests_rejected_total", "status {{status}}", "status"),
        counted("rebalance_agent_connections_cut_total", "closed: {{reason}}", "reason"),
        counted("rebalance_agent_gateway_refused_total", "gateway: {{reason}}", "reason"),
    ),
    Look.COUNTS,
    empty="none in this time range",
)
