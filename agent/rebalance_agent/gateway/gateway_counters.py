"""The gateway's metrics from the metrics catalogue, with one method for each event. Thread-safe."""

from __future__ import annotations

from rebalance_agent.gateway.share_groups.share_counters import ShareCounters
from rebalance_agent.gateway.transport.close_reason import CloseReason
from rebalance_agent.metrics import gateway_rows as rows
from rebalance_agent.metrics.agent_rows import OTHER
from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.export.instruments import Instruments
from rebalance_agent.metrics.export.text import TextFormat

__all__ = ["Direction", "GatewayCounters"]


class Direction:
    """The bytes and the latency of one direction, summed over all connections."""

    def __init__(self, instruments: Instruments, name: str) -> None:
        """``name``: the value of the label, one of `gateway_rows.DIRECTIONS`."""
        self._bytes = instruments.counter(rows.GATEWAY_BYTES).labels(name)
        self._seconds = instruments.histogram(rows.GATEWAY_PASS_SECONDS).labels(name)

    def sent(self, size_bytes: int) -> None:
        """Count bytes that were forwarded."""
        self._bytes.inc(size_bytes)

    def passed(self, seconds: float) -> None:
        """Record frames that were forwarded unread, ``seconds`` after their last byte arrived."""
        self._seconds.observe(seconds)


class GatewayCounters:
    """The metrics ``rebalance_agent_gateway_*`` of one gateway, and those of its share groups (``shares``)."""

    def __init__(self, text: TextFormat | None = None) -> None:
        """Start at 0. ``up`` is the direction to brokers, ``down`` the direction to clients."""
        self._instruments = Instruments(rows.GATEWAY_ROWS, text)
        self.shares = ShareCounters(text)
        self.up, self.down = (Direction(self._instruments, name) for name in rows.DIRECTIONS)
        self._open = self._instruments.gauge(rows.GATEWAY_CONNECTIONS)
        self._open.set(0)
        self._seconds = self._instruments.histogram(rows.GATEWAY_READ_SECONDS)

    def opened(self) -> None:
        """Count a client that has connected."""
        self._instruments.counter(rows.GATEWAY_CONNECTIONS_TOTAL).inc()
        self._open.inc()

    def closed(self) -> None:
        """Count a closed connection of a client."""
        self._open.dec()

    def read(self, api_key: int, seconds: float) -> None:
        """Record that a frame was read, possibly changed, and forwarded after ``seconds``."""
        self._seconds.labels(rows.READ_APIS.get(api_key, OTHER)).observe(seconds)

    def refused(self, refusal: CloseReason) -> None:
        """Count a connection that the gateway closed."""
        self._instruments.counter(rows.GATEWAY_REFUSED).labels(refusal).inc()

    def outcome(self, outcome: str) -> None:
        """Count a group's frame by its outcome (one of the row's label values)."""
        self._instruments.counter(rows.GATEWAY_OUTCOMES).labels(outcome).inc()

    def pushed(self, outcome: str) -> None:
        """Count a client's push of metrics by its outcome (one of the row's label values)."""
        self._instruments.counter(rows.GATEWAY_PUSHES).labels(outcome).inc()

    def passed(self, outcome: str, number: int = 1) -> None:
        """Count pushes to be forwarded, by outcome (one of the row's label values). May be called in any thread."""
        self._instruments.counter(rows.GATEWAY_PUSHES_PASSED).labels(outcome).inc(number)

    def push_ended(self, announced: bool) -> None:
        """Count a client that no longer pushes; ``announced``: the client marked its last push as the last."""
        self._instruments.counter(rows.GATEWAY_PUSH_ENDS).labels(rows.PUSH_ENDS[not announced]).inc()

    def act(self, act: str, outcome: str, number: int = 1) -> None:
        """Count an action on seats; both arguments are label values of the row."""
        self._instruments.counter(rows.GATEWAY_ACTS).labels(act, outcome).inc(number)

    def spared(self, rebalances: int, *, predicted: bool) -> None:
        """Count rebalances that seats avoided, or, with ``predicted``, would have avoided."""
        self._instruments.counter(rows.GATEWAY_SEATS_SPARED).labels(rows.SEAT_MODES[predicted]).inc(rebalances)

    def kept(self, partition_seconds: float, *, predicted: bool) -> None:
        """Count partition-seconds in which seats were vacant, or, with ``predicted``, would have been vacant."""
        counter = self._instruments.counter(rows.GATEWAY_SEATS_KEPT_SECONDS)
        counter.labels(rows.SEAT_MODES[predicted]).inc(partition_seconds)

    def stall_spared(self, partition_seconds: float) -> None:
        """Count partition-seconds of stall that seats avoided after consumers were killed (a lower bound)."""
        self._instruments.counter(rows.GATEWAY_SEATS_SPARED_SECONDS).inc(partition_seconds)

    def waited(self, seconds: float, *, predicted: bool) -> None:
        """Count seconds for which newcomers waited to join with others, or, with ``predicted``, would have waited."""
        self._instruments.counter(rows.GATEWAY_SEATS_WAITED_SECONDS).labels(rows.SEAT_MODES[predicted]).inc(seconds)

    def seats(self, held: int, vacant: int, *, off: bool, wrong: int) -> None:
        """Set the numbers of held JoinGroups and of vacant seats, and whether seats are switched off.

        ``wrong``: the number of groups whose seats are only observed, because earlier actions were wrong.
        """
        self._instruments.gauge(rows.GATEWAY_SEATS_HELD).set(held)
        self._instruments.gauge(rows.GATEWAY_SEATS_VACANT).set(vacant)
        self._instruments.gauge(rows.GATEWAY_SEATS_OFF).set(off)
        self._instruments.gauge(rows.GATEWAY_SEATS_WRONG).set(wrong)

    def brokers(self, number: int, shut: int) -> None:
        """Set the ``number`` of brokers that clients can reach through a port, and of unreachable ones (``shut``)."""
        self._instruments.gauge(rows.GATEWAY_BROKERS).set(number)
        self._instruments.gauge(rows.GATEWAY_BROKERS_SHUT).set(shut)

    def text(self, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """Return the metric families as text, with headers."""
        return self.shares.text(dialect) + self._instruments.text(dialect)
