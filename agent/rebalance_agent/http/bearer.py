"""Bearer tokens of our own listeners (RFC 6750)."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from wsgiref.types import WSGIEnvironment

from rebalance_agent.errors import InvalidInputError

__all__ = ["TOKEN_MIN", "Bearer", "checked_token"]

TOKEN_MIN = 16
"""Characters of a bearer token: fewer can be guessed over a network."""


def checked_token(field: str, token: str) -> str:
    """The token, if it is one that can be sent in a header and not be guessed.

    Raises:
        InvalidInputError: naming ``field``.
    """
    if len(token) < TOKEN_MIN or not (token.isascii() and token.isprintable()) or " " in token:
        raise InvalidInputError(field, f"must be at least {TOKEN_MIN} printable ASCII characters without spaces")
    return token


class Bearer:
    """Lets a request pass that carries the token. It is never shown."""

    def __init__(self, token: str | Callable[[], str]) -> None:
        """A token, or what gives the one that holds now.

        Raises:
            InvalidInputError: a token that is too short or cannot be sent.
        """
        self._token: Callable[[], str] = (lambda: token) if isinstance(token, str) else token
        checked_token("token", self._token())

    def allows(self, environ: WSGIEnvironment) -> bool:
        """Whether ``Authorization: Bearer`` has the token; takes equally long for every wrong one."""
        scheme, _, given = environ.get("HTTP_AUTHORIZATION", "").partition(" ")
        token = given.strip().encode("utf-8", "replace")
        return scheme.lower() == "bearer" and hmac.compare_digest(token, self._token().encode())
