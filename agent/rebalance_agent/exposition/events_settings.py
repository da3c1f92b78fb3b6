"""Bounds of the events endpoint, and the rule that only loopback goes without a token."""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass, field

from rebalance_agent.errors import InvalidInputError

__all__ = ["TOKEN_MIN", "EventsSettings"]

TOKEN_MIN = 16
"""Characters of a bearer token: fewer can be guessed over a network."""


@dataclass(frozen=True, slots=True)
class EventsSettings:
    """Where the endpoint listens, who may post, and how much.

    ``lines_max`` and ``rate`` (events per second, with bursts of ``burst``) count events; ``body_bytes_max`` is one
    post's. ``burst`` is at least ``lines_max``, so that a full post can always pass in the end.

    Raises:
        InvalidInputError: beyond loopback without a token, a token that is too short or not ASCII, or senseless bounds.
    """

    host: str = "127.0.0.1"
    port: int = 29309
    token: str | None = field(default=None, repr=False)
    body_bytes_max: int = 1024 * 1024
    lines_max: int = 1_000
    rate: float = 1_000.0
    burst: int = 5_000

    def __post_init__(self) -> None:
        """Refuse what would be open or could never work."""
        if self.token is None and not _is_loopback(self.host):
            raise InvalidInputError("token", f"is required to listen on {self.host or 'every address'}: not loopback")
        if self.token is not None and (len(self.token) < TOKEN_MIN or not self.token.isascii()):
            raise InvalidInputError("token", f"must be ASCII and have at least {TOKEN_MIN} characters")
        for name in ("body_bytes_max", "lines_max", "rate"):
            if getattr(self, name) <= 0:
                raise InvalidInputError(name, "must be above 0")
        if self.burst < self.lines_max:
            raise InvalidInputError("burst", f"must be at least lines_max, {self.lines_max}")


def _is_loopback(host: str) -> bool:
    """Whether only this machine (or pod) can reach the address. A name other than ``localhost`` is not trusted."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
