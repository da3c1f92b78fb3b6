"""Defines the demo's gateways, with their ports and flags.

A gateway's settings apply to every consumer that connects through it. So members with different weights have one
gateway each, as in pods. Groups that differ only in their rules for seats share a gateway.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rebalance_agent.demo.scenario_types import DemoGroup, DemoMember
from rebalance_agent.testing.kafka.broker_settings import HOST

__all__ = ["PORTS", "DemoGateway", "GatewayPorts", "gateways_of"]

PORTS = 3
"""Number of ports chosen in advance for each gateway; the gateway's ports for brokers are any free ports."""


@dataclass(frozen=True, slots=True)
class GatewayPorts:
    """The ports of one gateway: ``/metrics``, posted events, and the bootstrap address for its consumers."""

    metrics: int
    events: int
    clients: int


@dataclass(frozen=True, slots=True)
class DemoGateway:
    """A gateway: the ``name`` of its process, log and address, and the groups whose members connect through it.

    ``member``: the only member that connects through the gateway; None if all members do.
    """

    name: str
    groups: tuple[DemoGroup, ...]
    member: DemoMember | None = None

    def serves(self, group: str, member: str) -> bool:
        """Return whether this member of this group connects through the gateway."""
        return group in (each.name for each in self.groups) and (self.member is None or self.member.name == member)

    def flags(self, ports: GatewayPorts) -> tuple[str, ...]:
        """Return the flags of ``rebalance-agent gateway``, without the flags for brokers."""
        return (
            *("--listen", f"{HOST}:{ports.metrics}", "--events-listen", f"{HOST}:{ports.events}"),
            *("--gateway-listen", f"{HOST}:{ports.clients}", "--gateway-port-base", "0"),
            *self._rules(),
            *("--gateway-telemetry", "true"),
            # Draining would only delay the end: the demo ends the consumers at the same time.
            *("--gateway-drain-seconds", "0"),
        )

    def _rules(self) -> Iterator[str]:
        names = {group.name: re.escape(group.name) for group in self.groups}
        if self.member is not None:
            settings = "".join(f",{key}={value}" for key, value in self.member.config.items())
            yield "--gateway-groups"
            yield ";".join(f"{names[group.name]}={group.assignor}{settings}" for group in self.groups)
        if seats := [group for group in self.groups if group.seats]:
            yield "--gateway-seats"
            yield ";".join(f"{names[group.name]}={group.seats}" for group in seats)


def gateways_of(groups: Sequence[DemoGroup]) -> list[DemoGateway]:
    """Return the gateways of these groups; gateways of single members are first."""
    own = [
        DemoGateway(f"gateway-{member.name}", (group,), member)
        for group in groups
        if group.configured
        for member in group.members
    ]
    shared: dict[str, list[DemoGroup]] = {}
    for group in groups:
        if group.gateway:
            shared.setdefault(group.gateway, []).append(group)
    return [*own, *(DemoGateway(name, tuple(served)) for name, served in shared.items())]
