"""The clients that push to one gateway, and their series on /metrics. Thread-safe: another thread scrapes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_agent.clock import Clock
from rebalance_agent.gateway.telemetry.client_values import CLIENT_VALUES
from rebalance_agent.gateway.telemetry.known_clients import KnownClients, Labels
from rebalance_agent.gateway.telemetry.push_error import PushError, PushOutcome
from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.metrics.member_client_rows import MEMBER_CLIENT_ROWS
from rebalance_agent.metrics.metric import Metric

__all__ = ["CLIENTS_MAX", "ClientEnd", "Pass", "TelemetryClients"]

CLIENTS_MAX = 1_000
"""Maximum clients that push: as many as a gateway accepts connections."""

SILENT_INTERVALS = 3
"""Push intervals without a push after which a client counts as gone."""

EARLY_SHARE = 0.5
"""Share of the push interval that must pass before another push of a client is accepted: clients vary their first
interval by up to half, and keep to the later ones."""

ClientEnd = Callable[[bool], None]
"""Called when a client is gone: True if its last push announced it, False if it fell silent."""

Pass = Callable[[bytes], None]
"""Function that accepts an OTLP request. It never blocks and never raises."""


@dataclass(slots=True)
class _Pushed:
    labels: Labels = ("", "", "")
    values: Mapping[str, float] = field(default_factory=dict)
    at: float = 0.0


class TelemetryClients:
    """The last values of each client, by the instance id that the gateway gave it.

    ``known``: the members' libraries.
    """

    def __init__(
        self,
        clock: Clock,
        push_interval_seconds: float = 0.0,
        ended: ClientEnd = lambda _announced: None,
        text: TextFormat | None = None,
        *,
        more: Sequence[str] = (),
        passes: Pass | None = None,
    ) -> None:
        """Start without clients. They are asked to push every ``push_interval_seconds`` (0: they are not asked).

        ``more``: prefixes of metrics to request in addition to those that are exported. ``passes`` gets everything that
        they push, as an OTLP request; None if it is not passed on.
        """
        self.more, self.passes = more, passes
        self._clock, self.push_interval_seconds, self._ended = clock, push_interval_seconds, ended
        self._format = text or TextFormat()
        self.known = KnownClients(self._format)
        self._lock = threading.Lock()
        self._clients: dict[str, _Pushed] = {}  # ordered by last push, oldest first

    def admit(self, instance_id: str) -> None:
        """Check whether a push of this client may be read, and count it, since a refused push also costs time.

        Raises:
            PushError: it comes too early, or there are too many clients.
        """
        with self._lock:
            self._expire()
            now, client = self._clock.monotonic(), self._clients.get(instance_id)
            if client is None and len(self._clients) >= CLIENTS_MAX:
                raise PushError(PushOutcome.THROTTLED, f"{CLIENTS_MAX} clients push")
            if client and now - client.at < EARLY_SHARE * self.push_interval_seconds:
                raise PushError(PushOutcome.THROTTLED, "the client pushes more often than requested")
            client = self._clients.pop(instance_id, None) or _Pushed()
            client.at = now
            self._clients[instance_id] = client

    def pushed(self, instance_id: str, labels: Labels, values: Mapping[str, float]) -> None:
        """Store the values of an admitted client, by names of `CLIENT_VALUES`.

        Clients without a group have no values, and no series.
        """
        with self._lock:
            self._clients[instance_id] = _Pushed(labels, values, self._clock.monotonic())

    def terminated(self, instance_id: str) -> None:
        """Record that the client pushed for the last time: it is closing in an orderly way."""
        with self._lock:
            if self._clients.pop(instance_id, None):
                self._ended(True)

    def text(self, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """Return metric families with their headers, for the current clients."""
        values_by_row: dict[Metric, dict[tuple[str, ...], list[float]]] = {row: {} for row in MEMBER_CLIENT_ROWS}
        merges = {value.row: value.merge for value in CLIENT_VALUES.values()}
        with self._lock:
            self._expire()
            for client in self._clients.values():
                for name, number in client.values.items():
                    value = CLIENT_VALUES[name]
                    labels = (*client.labels, *value.labels)
                    values_by_row[value.row].setdefault(labels, []).append(number * value.factor)
        return self.known.text(dialect) + b"".join(
            self._format.header(row, dialect)
            + self._format.samples(row, [(labels, merges[row](values)) for labels, values in sorted(samples.items())])
            for row, samples in values_by_row.items()
            if samples
        )

    def _expire(self) -> None:
        before = self._clock.monotonic() - SILENT_INTERVALS * self.push_interval_seconds
        silent = []
        for instance_id, client in self._clients.items():
            if client.at >= before:
                break
            silent.append(instance_id)
        for instance_id in silent:
            del self._clients[instance_id]
            self._ended(False)
