"""Keeps the last error of an admin client's connections, because the errors of requests do not contain it."""

from __future__ import annotations

import re

from confluent_kafka import KafkaError

from rebalance_agent.clock import Clock, SystemClock

__all__ = ["KEPT_S", "ConnectionErrors"]

KEPT_S = 60.0
"""Seconds for which an error of one connection is kept; while it lasts, librdkafka reports it again every 30 s."""

_STATE = re.compile(r" \(after \d+ms in state [A-Z_]+.*\)")
"""The end of a connection error's text, which concerns only librdkafka."""

_DOWN = re.compile(r"\d+/\d+ brokers are down")
"""librdkafka's text if no broker is connected. It is the only text if servers close connections without a response."""

_ACCEPTED = re.compile(r"0/\d+ brokers are down")
"""The text if all servers accept connections, but close them at the first request."""


class ConnectionErrors:
    """The last error, until a broker answers: librdkafka does not report an error again for each request.

    It is called by librdkafka (``error_cb``), in the thread that polls the client.
    """

    def __init__(self, protocol: str, clock: Clock | None = None) -> None:
        """``protocol``: the client's ``security.protocol``; may be empty."""
        self._has_login = protocol.lower().startswith("sasl")
        self._clock = clock or SystemClock()
        self._last, self._until = "", float("inf")
        self._lost = False

    def __call__(self, error: KafkaError) -> None:
        """Keep the ``error``, unless it is less specific than the last one."""
        text, until = error.str(), self._clock.monotonic() + KEPT_S
        if error.code() == KafkaError._ALL_BROKERS_DOWN:  # noqa: SLF001 - librdkafka's own codes begin so
            self._lost = True
            if self._current() and not _ACCEPTED.fullmatch(text):
                return
            until = float("inf")  # librdkafka does not repeat this error
        self._last, self._until = text, until

    def answered(self) -> None:
        """Forget the last error, because a broker has answered."""
        self._last = ""

    def lost(self) -> bool:
        """Return whether all connections went down since the last call."""
        lost, self._lost = self._lost, False
        return lost

    @property
    def text(self) -> str:
        """The last error, or the setting that may be wrong; empty without an error since the last answer."""
        last = self._current()
        if _DOWN.fullmatch(last) and not self._has_login:
            return (
                "the servers accept connections but no requests: if they require a login, set security.protocol to "
                "SASL_PLAINTEXT or SASL_SSL"
            )
        return _STATE.sub("", last)

    def _current(self) -> str:
        return self._last if self._clock.monotonic() < self._until else ""
