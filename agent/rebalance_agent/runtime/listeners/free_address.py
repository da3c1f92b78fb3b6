"""Tests whether an address can be listened on, without serving it."""

from __future__ import annotations

import socket
from contextlib import closing

from rebalance_agent.runtime.settings.text_types import split_address

__all__ = ["listen_problem"]


def listen_problem(address: str) -> str:
    """Return why ``address`` (``host:port``) cannot be listened on (the system's error text); "" if it can."""
    host, port = split_address(address)
    try:
        family, kind, *_, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)[0]
        with closing(socket.socket(family, kind)) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(where)
    except OSError as error:
        return error.strerror or str(error)
    return ""
