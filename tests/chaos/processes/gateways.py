"""Gateways with seats, each with fixed addresses that all its processes use."""

from __future__ import annotations

from chaos.processes.agents import Agent
from support.gateway.gatewaying import free_base

HOLD_S, KEEP_S, ADMISSION_S = 8, 5, 10
DRAIN_S = 2
PORTS = 10
"""Number of ports of a gateway: the first for bootstrap, the others for brokers."""


def gateways(number, folder, bootstrap, topic, mode, more=()):
    """Return gateways, which are not started, and their bootstrap addresses.

    ``topic``: of events; ``mode``: of seats, ``on`` or ``off``; ``more``: further flags.
    """
    base = free_base(nodes=number * PORTS)
    rule = f".*={mode},seats.hold.seconds={HOLD_S},seats.keep.seconds={KEEP_S},seats.between.gateways=true"
    found = []
    for place in range(number):
        name, first = f"gateway-{place + 1}", base + place * PORTS
        flags = [
            f"--bootstrap-servers={bootstrap}",
            f"--gateway-seats={rule}",
            f"--gateway-seats-file={folder / name}.seats",
            f"--gateway-admission-seconds={ADMISSION_S}",
            f"--gateway-listen=127.0.0.1:{first}",
            f"--gateway-port-base={first + 1}",
            f"--gateway-drain-seconds={DRAIN_S}",
            "--events-listen=127.0.0.1:0",
            f"--events-topic={topic}",
            *more,
        ]
        found.append((Agent(folder, "gateway", flags, name), f"127.0.0.1:{first}"))
    return tuple(zip(*found, strict=True))
