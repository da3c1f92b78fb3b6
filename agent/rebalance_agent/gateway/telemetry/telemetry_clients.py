"""Stores the values that clients push to one gateway, for /metrics. Thread-safe: scrapes use another thread."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from rebalance_agent.clock import Clock
from rebalance_agent.gateway.telemetry.client_values import CLIENT_VALUES, LAST_POLL
from rebalance_agent.gateway.telemetry.known_clients import KnownClients, Labels
from rebalance_agent.gateway.telemetry.push_error import PushError, PushOutcome
from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.export.text import TextFormat
from rebalance_agent.metrics.member_client_rows import MEMBER_CLIENT_ROWS
from rebalance_agent.metrics.metric import Metric

__all__ = ["ADDRESS_CLIENTS_MAX", "CLIENTS_MAX", "NEAR_LIMIT_INTERVAL", "ClientEnd", "Pass", "TelemetryClients"]

CLIENTS_MAX = 1_000
"""Maximum number of clients that push: as many as the connections that a gateway accepts."""

ADDRESS_CLIENTS_MAX = CLIENTS_MAX // 2
"""Maximum number of clients that push from one address: as many as the connections that a gateway accepts from one
address. Clients choose their instance ids, so one address could otherwise take all places by reconnecting."""

SILENT_INTERVALS = 3
"""Number of push intervals without a push after which a client counts as gone."""

EARLY_SHARE = 0.5
"""Share of the push interval that must pass before another push of a client is accepted: clients vary their first
interval by up to half, and later intervals not at all."""

NEAR_LIMIT = 0.25
"""Share of its poll limit for which a client has not called poll() and then pushes at shorter intervals. It pushes so
before an alert fires: at half of the limit, or at a third of a limit of 150 s."""

NEAR_LIMIT_INTERVAL = 1 / 3
"""The shorter push interval, as a share of the usual one."""

ClientEnd = Callable[[bool], None]
"""Called when a client is gone. The argument: True if the client's last push announced its end, False otherwise."""

Pass = Callable[[bytes, str], None]
"""A function that accepts an OTLP request, and the address of the client. It never blocks and never raises."""


@dataclass(slots=True)
class _Pushed:
    labels: Labels = ("", "", "")
    values: Mapping[str, float] = field(default_factory=dict)
    at: float = 0.0

    @property
    def host(self) -> str:
        """The address of the client."""
        return self.labels[2]


class TelemetryClients:
    """The last values of each client, by the instance id that the gateway assigned to the client.

    ``known``: the libraries and poll limits of members.
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
        """Start without clients. Clients are asked to push every ``push_interval_seconds`` (0: they are not asked).

        ``more``: prefixes of metrics to request in addition to the exported ones. ``passes`` forwards everything that
        clients push, as an OTLP request; None: pushes are not forwarded.
        """
        self.more, self.passes = more, passes
        self._clock, self.push_interval_seconds, self._ended = clock, push_interval_seconds, ended
        self._format = text or TextFormat()
        self.known = KnownClients(self._format)
        self._lock = threading.Lock()
        self._clients: dict[str, _Pushed] = {}  # ordered by last push, oldest first

    def admit(self, instance_id: str, host: str) -> None:
        """Check whether a push of this client may be read; an admitted push counts even if it is refused later.

        ``host``: the address of the client.

        Raises:
            PushError: the push comes too early, or there are too many clients.
        """
        with self._lock:
            self._expire()
            now, client = self._clock.monotonic(), self._clients.get(instance_id)
            if client is None:
                self._check_room(host)
            if client and now - client.at < EARLY_SHARE * self._interval_seconds(client):
                raise PushError(PushOutcome.THROTTLED, "the client pushes more often than requested")
            client = self._clients.pop(instance_id, None) or _Pushed(("", "", host))
            client.at = now
            self._clients[instance_id] = client

    def pushed(self, instance_id: str, labels: Labels, values: Mapping[str, float]) -> None:
        """Store the values of an admitted client; the keys of ``values`` are names in `CLIENT_VALUES`.

        ``values`` is empty for a client without a group, which therefore gets no series.
        """
        with self._lock:
            self._clients[instance_id] = _Pushed(labels, values, self._clock.monotonic())

    def near_limit(self, instance_id: str) -> bool:
        """Whether the client comes near its poll limit, according to its last push."""
        with self._lock:
            client = self._clients.get(instance_id)
            return client is not None and self._near_limit(client)

    def terminated(self, instance_id: str) -> None:
        """Record that the client has pushed for the last time, since it is closing."""
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

    def _near_limit(self, client: _Pushed) -> bool:
        age = client.values.get(LAST_POLL, 0.0)
        # Most clients have polled since their last push, and need no search for their limit.
        return age >= self.push_interval_seconds and age >= NEAR_LIMIT * self.known.poll_limit(client.labels)

    def _interval_seconds(self, client: _Pushed) -> float:
        return self.push_interval_seconds * (NEAR_LIMIT_INTERVAL if self._near_limit(client) else 1)

    def _check_room(self, host: str) -> None:
        if len(self._clients) >= CLIENTS_MAX:
            raise PushError(PushOutcome.THROTTLED, f"{CLIENTS_MAX} clients push")
        if sum(client.host == host for client in self._clients.values()) >= ADDRESS_CLIENTS_MAX:
            raise PushError(PushOutcome.THROTTLED, f"{ADDRESS_CLIENTS_MAX} clients of this address push")

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
