"""Defines the ports that the agent uses by default, and the ports that the embedded Kafka and the demo leave to it.

This module needs no third-party package, because the embedded Kafka runs without the agent's dependencies.
"""

from __future__ import annotations

from rebalance_agent.http.events_post import EVENTS_PORT

__all__ = ["AGENT_PORTS", "BROKER_PORT_BASE", "GATEWAY_PORT", "KAFKA_PORT", "SERVERS_HELP", "WEB_PORT"]

WEB_PORT = 29_308
"""Port of ``listen``. In the documentation, further roles on the same machine use the next ports."""

GATEWAY_PORT = 29_092
"""Port of ``gateway_listen``."""

BROKER_PORT_BASE = 29_400
"""Default of ``gateway_port_base``: the gateway's port for a broker is this number plus the broker's node id."""

KAFKA_PORT = 9092
"""Kafka's port, which librdkafka uses if an address has no port."""

SERVERS_HELP = f"short for --kafka bootstrap.servers=...; without :PORT, the port is {KAFKA_PORT}"
"""Help of the flag ``--bootstrap-servers``, also of commands that need no settings."""

_ROLES, _NODES = 7, 100

AGENT_PORTS = frozenset(
    {
        GATEWAY_PORT,
        GATEWAY_PORT + 1,
        EVENTS_PORT,
        *range(WEB_PORT, WEB_PORT + _ROLES),
        *range(BROKER_PORT_BASE, BROKER_PORT_BASE + _NODES),
    }
)
"""Ports of an agent that a user starts beside an embedded Kafka or the demo, with default settings or those that the
documentation shows."""
