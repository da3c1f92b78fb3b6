"""The interface of one group with a rule for seats, which handles the frames of all its connections."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol

from rebalance_agent.gateway.seating.connections.client_connection import ClientConnection
from rebalance_agent.gateway.seats.rules.eligibility import Newcomer
from rebalance_agent.gateway.seats.saved_seats import SavedSeat
from rebalance_agent.gateway.seats.seat import EpochBeat
from rebalance_agent.model.group import GroupType

__all__ = ["GrantedSeat", "JoinResult", "SeatedGroup"]


@dataclass(frozen=True, slots=True)
class GrantedSeat:
    """A seat that a newcomer gets; ``last_member``: the id of its last member, empty if the seat is new."""

    instance_id: str
    last_member: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinResult:
    """The coordinator's answer to a JoinGroup, or to the first heartbeat of a member (KIP-848).

    ``generation``: in KIP-848 the member epoch. ``leads``: whether the answer names the member as leader.
    """

    error: int
    member_id: str
    generation: int = -1
    leads: bool = False


class SeatedGroup(Protocol):
    """A group in mode ``on`` or ``observe``.

    All its members use one protocol: classic, or KIP-848. In KIP-848 a member's first heartbeat stands for a JoinGroup,
    a heartbeat with epoch -1 for a LeaveGroup, and an answer with an assignment also for a SyncGroup response. Methods
    that return an error code return the code that the client gets.
    """

    @property
    def group_type(self) -> GroupType:
        """The protocol of its members: classic or consumer."""
        ...

    async def admitted(self, newcomer: Newcomer, connection: ClientConnection) -> GrantedSeat | None:
        """Wait until a JoinGroup may be sent; return the seat to send it with, None to send it unchanged.

        Raises:
            ConnectionError: the client disconnected meanwhile.
        """
        ...

    def seated(self, newcomer: Newcomer, result: JoinResult, connection: ClientConnection) -> bool:
        """Process the answer to a JoinGroup with an instance id; return whether the client gets this answer."""
        ...

    def withdraw(self, newcomer: Newcomer) -> None:
        """Withdraw a JoinGroup with an instance id whose client disconnected before the answer."""
        ...

    def join_answered(self, newcomer: Newcomer, result: JoinResult, connection: ClientConnection) -> int:
        """Process the answer to an unchanged JoinGroup; return the client's error code."""
        ...

    def sync_answered(self, member_id: str, error: int, partitions: int) -> int:
        """Process the answer to a member's SyncGroup, with the number of assigned ``partitions`` if it was accepted."""
        ...

    def heartbeat_answered(self, member_id: str, error: int, beat: EpochBeat | None = None) -> int:
        """Process the answer to a member's heartbeat; ``beat``: its changes (KIP-848), None in classic groups."""
        ...

    def answered(self, member_id: str, error: int, connection: ClientConnection, process: int) -> None:
        """Record that a member's own SyncGroup or heartbeat was answered; ``process``: the number of its connection."""
        ...

    def seat_of(self, member_id: str) -> str | None:
        """Return the instance id of a member's seat; empty if it is only predicted, None if there is no seat."""
        ...

    async def is_member(self, member_id: str, connection: ClientConnection) -> bool:
        """Ask the coordinator whether it accepts requests of this member from this connection."""
        ...

    async def leaves(self, member_id: str, reason: str | None, connection: ClientConnection) -> bool:
        """Decide whether the gateway answers a LeaveGroup itself. Raises like `ClientConnection.answered`."""
        ...

    def leave_refused(self, member_id: str, error: int) -> None:
        """Record that the coordinator refused a leave that was changed to keep the member's seat (KIP-848)."""
        ...

    def refuse_unfenced(self) -> None:
        """Stop handing seats over: a member commits in transactions without its member id."""
        ...

    def client_ended(self, connection: ClientConnection, process: int) -> None:
        """Record that the client of a connection has closed it."""
        ...

    def crashed(self, process: int) -> None:
        """Record that a client has closed all its connections; ``process`` is the number of one."""
        ...

    def connections_opened(self, process: int) -> None:
        """Record that a client that had closed all its connections has opened one again."""
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
        """Return the time of the next call of `due` in monotonic seconds; None: not before another input."""
        ...

    def stop(self, *, keep: bool = False) -> None:
        """Stop giving seats, holding JoinGroups and keeping seats.

        ``keep``: the next gateway knows the seats; vacant seats are left unchanged if the rule keeps them.
        """
        ...

    def go_on(self) -> None:
        """Act again after `stop`, unless the group has no seats for another reason."""
        ...

    def saved(self) -> tuple[SavedSeat, ...]:
        """Return the seats to restore after a restart of the gateway; none if the group gets no more seats."""
        ...

    def restore(self, seats: Iterable[SavedSeat], elapsed_seconds: float) -> None:
        """Restore seats that were saved ``elapsed_seconds`` ago, before the group is used."""
        ...

    @property
    def wrong(self) -> bool:
        """Whether the group stopped acting because its acts were wrong too often."""
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
