"""Opens listening and reserved sockets, reads the system's ephemeral port range, and checks brokers' addresses."""

from __future__ import annotations

import re
import socket
from pathlib import Path

from rebalance_agent.gateway.transport.addresses import Address

__all__ = ["PORT_MAX", "address_problem", "ephemeral_ports", "listening_socket", "reserved_socket"]

PORT_MAX = 65_535
"""The highest TCP port."""

BACKLOG = 1_024
"""Maximum number of connections that the kernel queues until they are accepted: more than one client opens while the
process waits for a processor. If the queue is full, a client tries again after a second."""

RANGE = Path("/proc/sys/net/ipv4/ip_local_port_range")
"""The file that contains Linux's ephemeral port range, 32768 to 60999 by default."""

_HOST = re.compile(r"[A-Za-z0-9_:][A-Za-z0-9._:%-]{0,254}")


def listening_socket(host: str, port: int) -> socket.socket:
    """Return a socket that listens on ``host`` and ``port`` (0: any free port). Raises OSError."""
    family, ip = _resolved(host, port)
    sock = socket.create_server((ip, port), family=family, backlog=BACKLOG)
    sock.setblocking(False)
    return sock


def reserved_socket(host: str) -> socket.socket:
    """Return a socket that reserves a port and accepts no connection, like a broker that is down. Raises OSError."""
    family, ip = _resolved(host, 0)
    sock = socket.socket(family, socket.SOCK_STREAM)
    try:
        sock.bind((ip, 0))
    except OSError:
        sock.close()
        raise
    return sock


def ephemeral_ports(path: Path = RANGE) -> range:
    """Return the ports that the system may use for outgoing connections; empty if the range cannot be read."""
    try:
        low, high = map(int, path.read_text(encoding="ascii").split())
    except (OSError, ValueError):
        return range(0)
    return range(low, high + 1)


def address_problem(address: Address) -> str:
    """Return the problem of a broker's address in a response; empty if it is valid."""
    host, port = address
    try:
        ascii_name = host.encode("idna").decode("ascii")
    except UnicodeError:
        ascii_name = ""
    if not _HOST.fullmatch(ascii_name):
        return f"{host[:100]!r} is not a host name"
    return "" if 0 < port <= PORT_MAX else f"{port} is not a port"


def _resolved(host: str, port: int) -> tuple[socket.AddressFamily, str]:
    family, _, _, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
    return family, str(address[0])
