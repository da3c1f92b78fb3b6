"""``oauth_cb`` for kafka-python."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

from kafka.net.sasl.oauth import AbstractTokenProvider

from rebalance_agent.clock import Clock

__all__ = ["Tokens"]

_MARGIN_SECONDS = 10.0
"""A token that ends so soon is not begun with."""


class Tokens(AbstractTokenProvider):  # type: ignore[misc] # kafka-python is untyped
    """Asks the user's ``oauth_cb`` as confluent-kafka does, and keeps what it said until it ends.

    The callback is called on kafka-python's IO thread, besides librdkafka's calls of it.
    """

    def __init__(self, callback: Callable[[str], tuple[Any, ...]], config: str, clock: Clock) -> None:
        """Call ``callback`` with ``config`` (``sasl.oauthbearer.config``)."""
        super().__init__()
        self._callback = callback
        self._config = config
        self._clock = clock
        self._lock = threading.Lock()
        self._known: tuple[Any, ...] = ("", 0.0)

    def token(self) -> str:
        """A token that is good for a while."""
        with self._lock:
            if self._known[1] - _MARGIN_SECONDS <= self._clock.now_ms() / 1000:
                # (token, end in seconds since the epoch) or (token, end, principal, extensions)
                self._known = tuple(self._callback(self._config))
            return str(self._known[0])

    def extensions(self) -> dict[str, str]:
        """SASL extensions of the token (KIP-342)."""
        return dict(self._known[3]) if len(self._known) > 3 and self._known[3] else {}  # noqa: PLR2004 - see above
