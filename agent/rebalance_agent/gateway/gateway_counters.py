"""What the gateway counts: its rows of the catalogue, each method one thing that can happen. Thread-safe."""

from __future__ import annotations

from rebalance_agent.gateway.transport.close_reason import CloseReason
from rebalance_agent.metrics import gateway_rows as rows
from rebalance_agent.metrics.agent_rows import OTHER
from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.export.instruments import Instruments
from rebalance_agent.metrics.export.text import TextFormat

__all__ = ["Direction", "GatewayCounters"]


class Direction:
    """What goes on one way, of all connections together."""

    def __init__(self, instruments: Instruments, name: str) -> None:
        """``name`` is one of the rows'."""
        self._bytes = instruments.counter(rows.GATEWAY_BYTES).labels(name)
        self._seconds = instruments.histogram(rows.GATEWAY_PASS_SECONDS).labels(name)

    def sent(self, size_bytes: int) -> None:
        """Bytes went on."""
        self._bytes.inc(size_bytes)

    def passed(self, seconds: float) -> None:
        """Frames went on unread, ``seconds`` after their last byte had come."""
        self._seconds.observe(seconds)


class GatewayCounters:
    """``rebalance_agent_gateway_*`` of one gateway's connections."""

    def __init__(self, text: TextFormat | None = None) -> None:
        """Everything is 0. ``up`` leads to brokers, ``down`` to clients."""
        self._instruments = Instruments(rows.GATEWAY_ROWS, text)
        self.up, self.down = (Direction(self._instruments, name) for name in rows.DIRECTIONS)
        self._open = self._instruments.gauge(rows.GATEWAY_CONNECTIONS)
        self._open.set(0)
        self._seconds = self._instruments.histogram(rows.GATEWAY_READ_SECONDS)

    def opened(self) -> None:
        """A client has connected."""
        self._instruments.counter(rows.GATEWAY_CONNECTIONS_TOTAL).inc()
        self._open.inc()

    def closed(self) -> None:
        """A client's connection is gone."""
        self._open.dec()

    def read(self, api_key: int, seconds: float) -> None:
        """A frame was read, perhaps changed, and sent on after ``seconds``."""
        self._seconds.labels(rows.READ_APIS.get(api_key, OTHER)).observe(seconds)

    def refused(self, refusal: CloseReason) -> None:
        """The gateway ended a connection."""
        self._instruments.counter(rows.GATEWAY_REFUSED).labels(refusal).inc()

    def outcome(self, outcome: str) -> None:
        """A frame of a group came to this; one of the row's."""
        self._instruments.counter(rows.GATEWAY_OUTCOMES).labels(outcome).inc()

    def brokers(self, number: int, shut: int) -> None:
        """So many brokers can be reached through a port of their own now, and so many cannot."""
        self._instruments.gauge(rows.GATEWAY_BROKERS).set(number)
        self._instruments.gauge(rows.GATEWAY_BROKERS_SHUT).set(shut)

    def text(self, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """Complete families with headers."""
        return self._instruments.text(dialect)
