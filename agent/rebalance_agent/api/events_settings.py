"""Bounds of the events endpoint; beyond loopback it requires a token or clients' certificates."""

from __future__ import annotations

from dataclasses import dataclass, field

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.http.bearer import Bearer
from rebalance_agent.http.events_post import EVENTS_PORT
from rebalance_agent.http.loopback import is_loopback

__all__ = ["EventsSettings"]


@dataclass(frozen=True, slots=True)
class EventsSettings:
    """Address, allowed clients and limits of the endpoint.

    ``body_bytes_max`` and ``lines_max`` (events) bound one post; ``rate`` is in events per second, with bursts of
    ``burst``. ``burst`` is at least ``lines_max``, so that a full post can always pass eventually. ``partitions_rate``:
    partitions in events per second, with bursts of a full post: a range of many partitions has few bytes, but costs as
    much as many events. ``values_rate``: values in posts per second, as `count_values` counts them, with bursts of
    ``values_burst``: an isolated partition costs as much as a range of many. ``mutual_tls``: TLS requires a certificate
    of every client.

    Raises:
        InvalidInputError: the address is not loopback and neither ``bearer`` nor ``mutual_tls`` is set, a bound is not
        positive, or ``burst`` is below ``lines_max``.
    """

    host: str = "127.0.0.1"
    port: int = EVENTS_PORT
    bearer: Bearer | None = field(default=None, repr=False)
    mutual_tls: bool = False
    body_bytes_max: int = 1024 * 1024
    lines_max: int = 1_000
    rate: float = 1_000.0
    burst: int = 5_000
    partitions_rate: float = 100_000.0
    values_rate: float = 100_000.0
    values_burst: int = 200_000

    def __post_init__(self) -> None:
        """Refuse settings that leave the endpoint open or can never work."""
        if self.bearer is None and not self.mutual_tls and not is_loopback(self.host):
            where = self.host or "every address"
            problem = f"is required, because {where} is not loopback, and clients need no certificate"
            raise InvalidInputError("token", problem)
        for name in ("body_bytes_max", "lines_max", "rate", "partitions_rate", "values_rate", "values_burst"):
            if getattr(self, name) <= 0:
                raise InvalidInputError(name, "must be above 0")
        if self.burst < self.lines_max:
            raise InvalidInputError("burst", f"must be at least lines_max, {self.lines_max}")
