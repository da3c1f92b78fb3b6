"""Checks the bearer tokens (RFC 6750) that the agent's listeners require."""

from __future__ import annotations

import hmac
from collections.abc import Callable

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http.messages import Request

__all__ = ["TOKEN_MIN", "Bearer", "checked_token"]

TOKEN_MIN = 16
"""Minimum number of characters of a bearer token: a shorter token can be guessed over a network."""


def checked_token(field: str, token: str) -> str:
    """Return the token, after checking that it can be sent in a header and is too long to guess.

    Raises:
        InvalidInputError: the token fails a check; names ``field``.
    """
    if len(token) < TOKEN_MIN or not (token.isascii() and token.isprintable()) or " " in token:
        raise InvalidInputError(field, f"must be at least {TOKEN_MIN} printable ASCII characters without spaces")
    return token


class Bearer:
    """Checks the bearer token of requests. The token appears in no log and no answer."""

    def __init__(self, token: str | Callable[[], str]) -> None:
        """``token`` is the token, or a function that returns the current one.

        Raises:
            InvalidInputError: the token is too short or cannot be sent in a header.
        """
        self._token: Callable[[], str] = (lambda: token) if isinstance(token, str) else token
        checked_token("token", self._token())

    def allows(self, request: Request) -> bool:
        """Return whether the header ``Authorization: Bearer`` has the token, compared in constant time."""
        scheme, _, given = request.headers.get("authorization", "").partition(" ")
        token = given.strip().encode("utf-8", "replace")
        return scheme.lower() == "bearer" and hmac.compare_digest(token, self._token().encode())
