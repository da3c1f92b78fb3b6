"""Which client libraries the members behind one gateway have, as they name themselves. Thread-safe."""

from __future__ import annotations

import threading
from collections import Counter

from rebalance_agent.gateway.telemetry.client_subscription import ClientSoftware
from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.metrics.member_client_rows import CLIENT_INFO

__all__ = ["KnownClients", "Labels"]

Labels = tuple[str, str, str]
"""The label values of a client: group, client id, and host."""


class KnownClients:
    """Members by their open connections: at most as many as the gateway has of these."""

    def __init__(self, text: TextFormat) -> None:
        """Begin without clients."""
        self._format = text
        self._lock = threading.Lock()
        self._open: Counter[tuple[Labels, ClientSoftware]] = Counter()

    def opened(self, labels: Labels, software: ClientSoftware) -> None:
        """A connection is a member's."""
        with self._lock:
            self._open[labels, software] += 1

    def closed(self, labels: Labels, software: ClientSoftware) -> None:
        """A connection that was opened was closed."""
        with self._lock:
            self._open[labels, software] -= 1
            if not self._open[labels, software]:
                del self._open[labels, software]

    def text(self, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """The metric family with its headers, without members that do not name their library."""
        with self._lock:
            known = sorted((*labels, each.name, each.version) for labels, each in self._open if each.name)
        if not known:
            return b""
        samples = [(labels, 1) for labels in known]
        return self._format.header(CLIENT_INFO, dialect) + self._format.samples(CLIENT_INFO, samples)
