"""The interface through which handlers of group frames use one client's connection."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, Protocol

from rebalance_agent.http.loopback import is_loopback

__all__ = ["ClientConnection", "Held", "OwnAnswer", "SeatNote", "seen_host"]

Held = Callable[[], AbstractContextManager[None]]
"""Returns a context manager that is entered while a JoinGroup is held."""


@dataclass(frozen=True, slots=True)
class OwnAnswer:
    """The gateway's own answer to a request: a frame for the client. The request is not sent to the broker."""

    frame: bytes


@dataclass(frozen=True, slots=True)
class SeatNote:
    """Handles the answer to a request: ``answered`` processes it, and returns the error code for the client."""

    answered: Callable[[Any], int]


class ClientConnection(Protocol):
    """A client's connection through the gateway to one broker; ``host``: the client's address."""

    @property
    def host(self) -> str:
        """The client's IP address."""
        ...

    @property
    def local_host(self) -> str:
        """The gateway's own IP address towards the broker; the coordinator takes this address for the client's."""
        ...

    @property
    def closed(self) -> bool:
        """Whether the broker's side is closed, so that no request can be sent."""
        ...

    def hung_up(self) -> bool:
        """Whether the client has closed its connection."""
        ...

    def answered(self) -> Awaitable[None]:
        """Wait until all requests before the current one are answered, and the answers passed on to the client.

        Raises:
            ConnectionError: the connection is closed.
        """
        ...

    def ask(self, message: Any) -> Awaitable[Any]:  # noqa: ANN401 - kafka-python is untyped
        """Send a request like `kafka_messages.Ask`; any task may call this."""
        ...

    def exchange(self, frame: bytes) -> Awaitable[bytes]:
        """Send a changed request of the client; return the broker's answer, which the client does not get.

        Request and answer have the client's correlation id. Raises ConnectionError once the connection is closed.
        """
        ...


def seen_host(connection: ClientConnection) -> str:
    """Return the address of a client for other clients: its own, or this machine's for a client on this machine."""
    return connection.local_host if is_loopback(connection.host) else connection.host
