"""One token for all clients of a process."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass

import structlog

from rebalance_agent.clock import Clock

__all__ = ["Token", "TokenCache", "TokenError"]

_REUSED = 2 / 3
"""Share of a token's lifetime for which clients get the token. librdkafka requests the next one after 80 %."""


class TokenError(Exception):
    """A platform's library has no token. The text is one line without secrets."""


@dataclass(frozen=True, slots=True)
class Token:
    """A token, its principal (a name for logs; brokers derive their own), and its expiry (epoch ms)."""

    text: str
    expires_ms: int
    principal: str = ""


class TokenCache:
    """Fetches tokens with ``fetch`` and reuses each for two thirds of its lifetime. Thread-safe.

    While no new token can be fetched, the old one is used until it expires.
    """

    def __init__(self, method: str, fetch: Callable[[], Token], clock: Clock) -> None:
        """``method``: the name of the login in log lines."""
        self._method = method
        self._fetch = fetch
        self._clock = clock
        self._lock = threading.Lock()
        self._token = Token("", 0)
        self._reused_until_ms = 0.0

    def token(self) -> Token:
        """Return a token that has not expired.

        Raises:
            TokenError: no token can be fetched.
        """
        with self._lock:
            now_ms = self._clock.now_ms()
            if now_ms < self._reused_until_ms:
                return self._token
            try:
                self._token = self._fetch()
            except TokenError as error:
                if not self._token.text:  # at the start, fail with this error
                    raise
                left_ms = max(self._token.expires_ms - now_ms, 0)
                log = structlog.get_logger("rebalance_agent.tokens")
                log.warning("no_token", method=self._method, reason=str(error), valid_ms=left_ms)
                if not left_ms:
                    raise
            else:
                self._reused_until_ms = now_ms + (self._token.expires_ms - now_ms) * _REUSED
            return self._token
