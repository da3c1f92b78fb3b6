"""Ports and flags of the demo's gateways; each consumer behind a gateway has its own, as in a pod.

A gateway's settings apply to every consumer that connects through it, and the members' weights differ.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rebalance_agent.demo.scenario_types import DemoGroup, DemoMember
from rebalance_agent.testing.kafka.broker_settings import HOST

__all__ = ["PORTS", "GatewayPorts", "behind_gateways", "flags", "gateway_name"]

PORTS = 3
"""Number of ports chosen in advance for each gateway; its ports for brokers are any free ones."""


@dataclass(frozen=True, slots=True)
class GatewayPorts:
    """The ports of one gateway: ``/metrics``, posted events, and the bootstrap address for its consumer."""

    metrics: int
    events: int
    clients: int


def gateway_name(member: str) -> str:
    """Return the name of a gateway's process, log and address."""
    return f"gateway-{member}"


def behind_gateways(groups: Sequence[DemoGroup]) -> list[tuple[DemoGroup, DemoMember]]:
    """Return the members that have a gateway, each with its group."""
    return [(group, member) for group in groups if group.configured for member in group.members]


def flags(group: DemoGroup, member: DemoMember, ports: GatewayPorts) -> tuple[str, ...]:
    """Return the flags of ``rebalance-agent gateway`` for this member, without those of the brokers."""
    settings = "".join(f",{key}={value}" for key, value in member.config.items())
    return (
        *("--listen", f"{HOST}:{ports.metrics}", "--events-listen", f"{HOST}:{ports.events}"),
        *("--gateway-listen", f"{HOST}:{ports.clients}", "--gateway-port-base", "0"),
        *("--gateway-groups", f"{re.escape(group.name)}={group.assignor}{settings}"),
        *("--gateway-telemetry", "true"),
        # Draining would only delay the end: the demo ends the consumers at the same time.
        *("--gateway-drain-seconds", "0"),
    )
