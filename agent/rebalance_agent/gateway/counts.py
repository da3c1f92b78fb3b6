"""What the gateway counts: its rows of the catalogue, each method one thing that can happen. Thread-safe."""

from __future__ import annotations

from rebalance_agent.exposition.dialects import Dialect
from rebalance_agent.exposition.instruments import Instruments
from rebalance_agent.exposition.text import TextFormat
from rebalance_agent.gateway.refusal import Refusal
from rebalance_agent.metrics import gateway_rows as rows
from rebalance_agent.metrics.agent_rows import OTHER

__all__ = ["Counts"]


class Counts:
    """``rebalance_agent_gateway_*`` of one gateway's connections."""

    def __init__(self, text: TextFormat | None = None) -> None:
        """Everything is 0."""
        self._instruments = Instruments(rows.GATEWAY_ROWS, text)
        moved = self._instruments.counter(rows.GATEWAY_BYTES)
        self._up, self._down = moved.labels("requests"), moved.labels("answers")
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

    def sent_up(self, size_bytes: int) -> None:
        """Bytes went to a broker."""
        self._up.inc(size_bytes)

    def sent_down(self, size_bytes: int) -> None:
        """Bytes went to a client."""
        self._down.inc(size_bytes)

    def read(self, api_key: int, seconds: float) -> None:
        """A frame was read, perhaps changed, and sent on after ``seconds``."""
        self._seconds.labels(rows.READ_APIS.get(api_key, OTHER)).observe(seconds)

    def refused(self, refusal: Refusal) -> None:
        """The gateway ended a connection."""
        self._instruments.counter(rows.GATEWAY_REFUSED).labels(refusal).inc()

    def outcome(self, outcome: str) -> None:
        """A frame of a group came to this; one of the row's."""
        self._instruments.counter(rows.GATEWAY_OUTCOMES).labels(outcome).inc()

    def brokers(self, number: int) -> None:
        """So many brokers have a port now."""
        self._instruments.gauge(rows.GATEWAY_BROKERS).set(number)

    def text(self, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """Complete families with headers."""
        return self._instruments.text(dialect)
