"""What the groups' part may do with the connection of one client, beside changing its frames."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from typing import Any, Protocol

__all__ = ["ClientConnection", "OwnAnswer"]


@dataclass(frozen=True, slots=True)
class OwnAnswer:
    """The gateway answers a request itself: the frame for the client. The request is not sent to the broker."""

    frame: bytes


class ClientConnection(Protocol):
    """A client's connection through the gateway to one broker; ``host``: the client's address."""

    @property
    def host(self) -> str:
        """The client's IP address."""
        ...

    @property
    def closed(self) -> bool:
        """Whether the broker's side is closed, so that nothing can be asked any more."""
        ...

    def hung_up(self) -> bool:
        """Whether the client has closed its connection."""
        ...

    def answered(self) -> Awaitable[None]:
        """Wait until all requests before the one that is read have been answered, and their answers passed on.

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
