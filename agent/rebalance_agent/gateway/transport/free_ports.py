"""Ports of this machine: one that brokers' clients may connect to, and those that the system gives out itself."""

from __future__ import annotations

import re
import socket
from pathlib import Path

from rebalance_agent.gateway.transport.addresses import Address

__all__ = ["PORT_MAX", "address_problem", "bound", "broker_port", "ephemeral_ports", "held"]

PORT_MAX = 65_535

BACKLOG = 128

RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""Where Linux tells which ports it gives to connections that ask for none: 32768 to 60999 by default."""

_HOST = re.compile(r"[A-Za-z0-9_:][A-Za-z0-9._:%-]{0,254}")


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens on ``host`` and ``port`` (0: any that is free). Raises OSError."""
    family, where = _resolved(host, port)
    sock = socket.create_server((where, port), family=family, backlog=BACKLOG)
    sock.setblocking(False)
    return sock


def held(host: str) -> socket.socket:
    """A socket with a port that nobody else can have, and that takes no connection: as of a broker that is down.

    Raises OSError.
    """
    family, where = _resolved(host, 0)
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.bind((where, 0))
    except OSError:
        sock.close()
        raise
    return sock


def broker_port(base: int, node: int) -> int:
    """The port of the broker ``node``; 0, any free one, where ``base`` is 0."""
    return base + node if base else 0


def ephemeral_ports(told: Path = RANGE) -> range:
    """Ports that a connection of any program may have at any time; none where the system does not tell."""
    try:
        low, high = map(int, told.read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return range(0)
    return range(low, high + 1)


def address_problem(address: Address) -> str:
    """What is wrong with the address that a broker is said to have; empty if one may try to connect to it."""
    host, port = address
    try:
        plain = host.encode("idna").decode("ascii")
    except UnicodeError:
        plain = ""
    if not _HOST.fullmatch(plain):
        return f"{host[:100]!r} is no host name"
    return "" if 0 < port <= PORT_MAX else f"{port} is no port"


def _resolved(host: str, port: int) -> tuple[socket.AddressFamily, str]:
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    return family, str(address[0])
