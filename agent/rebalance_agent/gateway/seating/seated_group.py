"""What happens in one group with a rule for seats, for the frames of all its connections."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from rebalance_agent.gateway.seating.connections.client_connection import ClientConnection
from rebalance_agent.gateway.seats.rules.eligibility import Newcomer
from rebalance_agent.gateway.seats.saved_seats import SavedSeat

__all__ = ["SeatedGroup"]


class SeatedGroup(Protocol):
    """A group with mode ``on`` or ``observe``.

    Messages are kafka-python's. Methods that return an error code return the one that the client is shown.
    """

    async def admitted(self, newcomer: Newcomer, connection: ClientConnection) -> str | None:
        """Wait until a JoinGroup is to be sent; the instance id to send it with, None: as it is.

        Raises:
            ConnectionError: the client disconnected meanwhile.
        """
        ...

    def seated(self, newcomer: Newcomer, response: Any, connection: ClientConnection) -> bool:  # noqa: ANN401
        """A JoinGroup with an instance id was answered; whether the client is shown that answer."""
        ...

    def withdraw(self, newcomer: Newcomer) -> None:
        """The client of a JoinGroup with an instance id disconnected before its answer."""
        ...

    def join_answered(self, newcomer: Newcomer, response: Any, connection: ClientConnection) -> int:  # noqa: ANN401
        """A JoinGroup that was sent as it is was answered."""
        ...

    def sync_answered(self, member_id: str, response: Any) -> int:  # noqa: ANN401
        """A member's SyncGroup was answered."""
        ...

    def heartbeat_answered(self, member_id: str, error: int) -> int:
        """A member's heartbeat was answered."""
        ...

    def answered(self, member_id: str, error: int, connection: ClientConnection, process: int) -> None:
        """A member's own SyncGroup or heartbeat was answered; ``process``: the number of its connection."""
        ...

    def has_seat(self, member_id: str) -> bool:
        """Whether a member has a seat, so that its LeaveGroup may be answered by the gateway."""
        ...

    async def is_member(self, member_id: str, connection: ClientConnection) -> bool:
        """Whether the coordinator takes requests of this member from this connection: it is asked by one."""
        ...

    async def leaves(self, member_id: str, reason: str | None, connection: ClientConnection) -> bool:
        """A LeaveGroup came; whether the gateway is to answer it. Raises as `ClientConnection.answered`."""
        ...

    def refuse_unfenced(self) -> None:
        """A member commits in transactions that name no member: nobody gets another one's seat any more."""
        ...

    def client_ended(self, connection: ClientConnection, process: int) -> None:
        """The client of a connection has closed it."""
        ...

    def crashed(self, process: int) -> None:
        """The client of a connection has closed all its connections."""
        ...

    def connections_opened(self, process: int) -> None:
        """The client of a connection that closed all of them has opened one again."""
        ...

    def needs(self, connection: ClientConnection, *, may_have_crashed: bool) -> bool:
        """Whether the broker's side of a connection is to stay open."""
        ...

    def forget(self, connection: ClientConnection) -> None:
        """The connection is closed on both sides."""
        ...

    def due(self) -> None:
        """Do what is due by now."""
        ...

    def next_due(self) -> float | None:
        """When `due` is to be called, in seconds of the monotonic clock; None: not before something happens."""
        ...

    def stop(self) -> None:
        """Give no seats any more, hold nothing, keep nothing."""
        ...

    def go_on(self) -> None:
        """Act again after `stop`, unless the group has no seats for another reason."""
        ...

    def saved(self) -> tuple[SavedSeat, ...]:
        """The seats that are to outlive the gateway's process; none of a group that has no seats any more."""
        ...

    def restore(self, seats: Iterable[SavedSeat], elapsed_seconds: float) -> None:
        """Restore seats that were saved ``elapsed_seconds`` ago, before the group is used."""
        ...

    @property
    def wrong(self) -> bool:
        """Whether its handovers were wrong too often, so that it does not act any more."""
        ...

    @property
    def held(self) -> int:
        """The number of held JoinGroups."""
        ...

    @property
    def vacant(self) -> int:
        """The number of vacant seats."""
        ...

    @property
    def idle(self) -> bool:
        """Whether there is nothing to remember."""
        ...
