"""Calls confluent-kafka's ``oauth_cb`` for kafka-python."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from kafka.net.sasl.oauth import AbstractTokenProvider

from rebalance_agent.clock import Clock

__all__ = ["Tokens"]

_MARGIN_SECONDS = 10.0
"""Minimum remaining lifetime of a token; an older one is replaced before it is used."""


class Tokens(AbstractTokenProvider):  # type: ignore[misc] # kafka-python is untyped
    """Calls the user's ``oauth_cb`` as confluent-kafka does, and caches the token until it expires.

    The callback runs on kafka-python's I/O thread, in addition to librdkafka's own calls.
    """

    def __init__(self, callback: Callable[[str], tuple[Any, ...]], config: str, clock: Clock) -> None:
        """Call ``callback`` with ``config`` (``sasl.oauthbearer.config``)."""
        super().__init__()
        self._callback = callback
        self._config = config
        self._clock = clock
        self._lock = threading.Lock()
        self._token: tuple[Any, ...] = ("", 0.0)

    def token(self) -> str:
        """Return a token that is valid for some seconds at least."""
        with self._lock:
            if self._token[1] - _MARGIN_SECONDS <= self._clock.now_ms() / 1000:
                # (token, expiry in seconds since the epoch) or (token, expiry, principal, extensions)
                self._token = tuple(self._callback(self._config))
            return str(self._token[0])

    def extensions(self) -> dict[str, str]:
        """SASL extensions of the token (KIP-342)."""
        return dict(self._token[3]) if len(self._token) > 3 and self._token[3] else {}  # noqa: PLR2004 - see above
