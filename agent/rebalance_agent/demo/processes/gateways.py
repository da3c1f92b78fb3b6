"""The demo's gateways: a consumer that is given one of our strategies has a gateway of its own, as in a pod.

A gateway's settings hold for every consumer that connects through it, and weights differ by member.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from rebalance_agent.demo.stories import StoryGroup, StoryMember
from rebalance_agent.testing.kafka.broker_settings import HOST

__all__ = ["PORTS", "GatewayPorts", "behind_gateways", "flags", "gateway_name"]

PORTS = 3
"""Ports of one gateway that somebody must know; brokers get any that are free."""


@dataclass(frozen=True, slots=True)
class GatewayPorts:
    """Of one gateway: where /metrics is, where events may be posted, and where its consumer begins."""

    metrics: int
    events: int
    clients: int


def gateway_name(client_id: str) -> str:
    """The name of the process, of its log and of its address."""
    return f"gateway-{client_id}"


def behind_gateways(groups: Sequence[StoryGroup]) -> list[tuple[StoryGroup, StoryMember]]:
    """Every member that has a gateway."""
    return [(group, member) for group in groups if group.configured for member in group.members]


def flags(group: StoryGroup, member: StoryMember, ports: GatewayPorts) -> tuple[str, ...]:
    """What ``rebalance-agent gateway`` is started with for this member, but for the brokers."""
    settings = "".join(f",{key}={value}" for key, value in member.config.items())
    return (
        *("--listen", f"{HOST}:{ports.metrics}", "--events-listen", f"{HOST}:{ports.events}"),
        *("--gateway-listen", f"{HOST}:{ports.clients}", "--gateway-port-base", "0"),
        *("--gateway-groups", f"{re.escape(group.name)}={group.assignor}{settings}"),
        # The demo ends its consumers at the same time.
        *("--gateway-drain-seconds", "0"),
    )
