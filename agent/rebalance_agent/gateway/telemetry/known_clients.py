"""Exports the client library and the poll limit of each member that is connected through one gateway.

Thread-safe, since scrapes run in another thread.
"""

from __future__ import annotations

import math
import threading
from collections import Counter
from dataclasses import dataclass

from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.metrics.member_client_rows import CLIENT_INFO, CLIENT_POLL_LIMIT
from rebalance_agent.model.reported.member_software import ClientSoftware

__all__ = ["KnownClient", "KnownClients", "Labels"]

Labels = tuple[str, str, str]
"""The label values of a client: group, client id, and host."""


@dataclass(frozen=True, slots=True)
class KnownClient:
    """A member. ``poll_limit_seconds``: the member's rebalance timeout; 0 if unknown."""

    labels: Labels
    software: ClientSoftware
    poll_limit_seconds: float


class KnownClients:
    """Members with the number of their open connections; there are at most as many members as connections."""

    def __init__(self, text: TextFormat) -> None:
        """Start without clients."""
        self._format = text
        self._lock = threading.Lock()
        self._open: Counter[KnownClient] = Counter()

    def opened(self, client: KnownClient) -> None:
        """Record that a connection belongs to this member."""
        with self._lock:
            self._open[client] += 1

    def closed(self, client: KnownClient) -> None:
        """Record that a connection of this member was closed."""
        with self._lock:
            self._open[client] -= 1
            if not self._open[client]:
                del self._open[client]

    def poll_limit(self, labels: Labels) -> float:
        """Return the shortest poll limit (seconds) of the members with these labels; infinity if none is known."""
        with self._lock:
            limits = (each.poll_limit_seconds for each in self._open if each.labels == labels)
            return min((limit for limit in limits if limit), default=math.inf)

    def text(self, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """Return metric families with their headers. Of members with equal labels, the shortest poll limit counts."""
        with self._lock:
            clients = tuple(self._open)
        software = {(*each.labels, each.software.name, each.software.version): 1.0 for each in clients if each.software}
        limits: dict[tuple[str, ...], float] = {}
        for client in clients:
            if client.poll_limit_seconds:
                limits[client.labels] = min(
                    client.poll_limit_seconds, limits.get(client.labels, client.poll_limit_seconds)
                )
        return b"".join(
            self._format.header(row, dialect) + self._format.samples(row, sorted(samples.items()))
            for row, samples in ((CLIENT_INFO, software), (CLIENT_POLL_LIMIT, limits))
            if samples
        )
