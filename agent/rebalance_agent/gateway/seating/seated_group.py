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
    """A seat that a newcomer gets; ``last_member``: the id of its last member, empty where it is new."""

    instance_id: str
    last_member: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinResult:
    """The coordinator's answer to a JoinGroup, or to the first heartbeat of a member (KIP-848).

    ``generation``: for a member of KIP-848 its epoch. ``leads``: it names the member as leader.
    """

    error: int
    member_id: str
    generation: int = -1
    leads: bool = False


class SeatedGroup(Protocol):
    """A group in mode ``on`` or ``observe``.

    Its members have one protocol: classic, or that of KIP-848. There the first heartbeat of a member stands for a
    JoinGroup, one with epoch -1 for a LeaveGroup, and an answer with an assignment is one to a SyncGroup, too. Methods
    that return an error code return the one that the client is shown.
    """

    @property
    def group_type(self) -> GroupType:
        """The protocol of its members: classic or consumer."""
        ...

    async def admitted(self, newcomer: Newcomer, connection: ClientConnection) -> GrantedSeat | None:
        """Wait until a JoinGroup is to be sent; the seat to send it with, None: as it is.

        Raises:
            ConnectionError: the client disconnected meanwhile.
        """
        ...

    def seated(self, newcomer: Newcomer, result: JoinResult, connection: ClientConnection) -> bool:
        """A JoinGroup with an instance id was answered; whether the client is shown that answer."""
        ...

    def withdraw(self, newcomer: Newcomer) -> None:
        """Take a JoinGroup with an instance id whose client disconnected before the answer."""
        ...

    def join_answered(self, newcomer: Newcomer, result: JoinResult, connection: ClientConnection) -> int:
        """A JoinGroup that was sent as it is was answered."""
        ...

    def sync_answered(self, member_id: str, error: int, partitions: int) -> int:
        """A member's SyncGroup was answered, with this number of ``partitions`` if it was accepted."""
        ...

    def heartbeat_answered(self, member_id: str, error: int, beat: EpochBeat | None = None) -> int:
        """A member's heartbeat was answered; ``beat``: what it changes (KIP-848), None in classic groups."""
        ...

    def answered(self, member_id: str, error: int, connection: ClientConnection, process: int) -> None:
        """Record that a member's own SyncGroup or heartbeat was answered; ``process``: the number of its connection."""
        ...

    def seat_of(self, member_id: str) -> str | None:
        """The instance id of a member's seat; empty where it only would have one, None for a member without a seat."""
        ...

    async def is_member(self, member_id: str, connection: ClientConnection) -> bool:
        """Ask the coordinator whether it accepts requests of this member from this connection."""
        ...

    async def leaves(self, member_id: str, reason: str | None, connection: ClientConnection) -> bool:
        """Decide whether the gateway answers a LeaveGroup itself. Raises as `ClientConnection.answered`."""
        ...

    def leave_refused(self, member_id: str, error: int) -> None:
        """A leave was changed so that the member's seat is kept, and the coordinator refused it (KIP-848)."""
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
        """The time of the next call of `due` in monotonic seconds; None: not before another input."""
        ...

    def stop(self, *, keep: bool = False) -> None:
        """Stop giving seats, holding JoinGroups and keeping seats.

        ``keep``: the next gateway knows the seats; vacant ones are left as they are if the rule keeps them.
        """
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
