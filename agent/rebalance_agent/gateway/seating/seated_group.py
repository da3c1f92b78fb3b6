"""The interface of one group with a rule for seats, which handles the frames of all its connections."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Protocol

from rebalance_agent.gateway.seating.connections.client_connection import ClientConnection
from rebalance_agent.gateway.seats.rules.eligibility import Newcomer
from rebalance_agent.gateway.seats.saved_seats import SavedSeat

__all__ = ["SeatedGroup"]


class SeatedGroup(Protocol):
    """A group in mode ``on`` or ``observe``.

    Messages are kafka-python's. Methods that return an error code return the one that the client is shown.
    """

    async def admitted(self, newcomer: Newcomer, connection: ClientConnection) -> str | None:
        """Wait until a JoinGroup is to be sent; return the instance id to send it with, None: send it unchanged.

        Raises:
            ConnectionError: the client disconnected meanwhile.
        """
        ...

    def seated(self, newcomer: Newcomer, response: Any, connection: ClientConnection) -> bool:  # noqa: ANN401
        """Take the answer to a JoinGroup with an instance id; return whether the client is shown it."""
        ...

    def withdraw(self, newcomer: Newcomer) -> None:
        """Take a JoinGroup with an instance id whose client disconnected before the answer."""
        ...

    def join_answered(self, newcomer: Newcomer, response: Any, connection: ClientConnection) -> int:  # noqa: ANN401
        """Take the answer to a JoinGroup that was sent unchanged."""
        ...

    def sync_answered(self, member_id: str, response: Any) -> int:  # noqa: ANN401
        """Take the answer to a member's SyncGroup."""
        ...

    def heartbeat_answered(self, member_id: str, error: int) -> int:
        """Take the answer to a member's heartbeat."""
        ...

    def answered(self, member_id: str, error: int, connection: ClientConnection, process: int) -> None:
        """Note that a member's own SyncGroup or heartbeat was answered; ``process``: the number of its connection."""
        ...

    def has_seat(self, member_id: str) -> bool:
        """Whether a member has a seat, so that its LeaveGroup may be answered by the gateway."""
        ...

    async def is_member(self, member_id: str, connection: ClientConnection) -> bool:
        """Ask the coordinator whether it accepts requests of this member from this connection."""
        ...

    async def leaves(self, member_id: str, reason: str | None, connection: ClientConnection) -> bool:
        """Decide whether the gateway answers a LeaveGroup itself. Raises as `ClientConnection.answered`."""
        ...

    def refuse_unfenced(self) -> None:
        """Stop handing seats over: a member commits in transactions without its member id."""
        ...

    def client_ended(self, connection: ClientConnection, process: int) -> None:
        """Note that the client of a connection has closed it."""
        ...

    def crashed(self, process: int) -> None:
        """Note that a client has closed all its connections; ``process`` is the number of one."""
        ...

    def connections_opened(self, process: int) -> None:
        """Note that a client that had closed all its connections has opened one again."""
        ...

    def needs(self, connection: ClientConnection, *, may_have_crashed: bool) -> bool:
        """Whether the broker's side of a connection must stay open."""
        ...

    def forget(self, connection: ClientConnection) -> None:
        """Forget a connection that is closed on both sides."""
        ...

    def due(self) -> None:
        """Carry out the acts that are due by now."""
        ...

    def next_due(self) -> float | None:
        """The time of the next call of `due` in monotonic seconds; None: not before another input."""
        ...

    def stop(self) -> None:
        """Stop giving seats, holding JoinGroups and keeping seats."""
        ...

    def go_on(self) -> None:
        """Act again after `stop`, unless the group has no seats for another reason."""
        ...

    def saved(self) -> tuple[SavedSeat, ...]:
        """The seats that outlive the gateway's process; none if the group gets no seats from now on."""
        ...

    def restore(self, seats: Iterable[SavedSeat], elapsed_seconds: float) -> None:
        """Restore seats that were saved ``elapsed_seconds`` ago, before the group is used."""
        ...

    @property
    def wrong(self) -> bool:
        """Whether the group stopped acting because its handovers were wrong too often."""
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
        """Whether the group has no state to keep."""
        ...
