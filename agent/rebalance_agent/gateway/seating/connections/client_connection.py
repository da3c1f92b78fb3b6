"""The interface of one client's connection for the handlers of group frames."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from rebalance_agent.http.loopback import is_loopback

__all__ = ["ClientConnection", "Held", "OwnAnswer", "SeatNote", "seen_host"]

Held = Callable[[], AbstractContextManager[None]]
"""The context of a JoinGroup that is kept."""


@dataclass(frozen=True, slots=True)
class OwnAnswer:
    """The gateway's own answer to a request, a frame for the client. The request is not sent to the broker."""

    frame: bytes


@dataclass(frozen=True, slots=True)
class SeatNote:
    """What the answer to a request is for: takes it, and returns the error code that the client is shown."""

    answered: Callable[[Any], int]


class ClientConnection(Protocol):
    """A client's connection through the gateway to one broker; ``host``: the client's address."""

    @property
    def host(self) -> str:
        """The client's IP address."""
        ...

    @property
    def local_host(self) -> str:
        """The gateway's own IP address on the way to the broker: the coordinator takes it for the client's."""
        ...

    @property
    def closed(self) -> bool:
        """Whether the broker's side is closed, so that no request can be sent."""
        ...

    def hung_up(self) -> bool:
        """Whether the client has closed its connection."""
        ...

    def answered(self) -> Awaitable[None]:
        """Wait until all requests before the current one were answered, and their answers passed on.

        Raises:
            ConnectionError: the connection is closed.
        """
        ...

    def ask(self, message: Any) -> Awaitable[Any]:  # noqa: ANN401 - kafka-python is untyped
        """As `kafka_messages.Ask`, by any task."""
        ...

    def exchange(self, frame: bytes) -> Awaitable[bytes]:
        """Send a request of the client, changed, and return its answer instead of passing it on.

        Both have the client's correlation id. Raises ConnectionError once the connection is closed.
        """
        ...


def seen_host(connection: ClientConnection) -> str:
    """Return the address by which others know a client: its own, or this machine's if it runs beside the gateway."""
    return connection.local_host if is_loopback(connection.host) else connection.host
