"""The interface of one group with a rule for seats: the group handles the frames of all its members."""

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
    """A seat that a newcomer gets; ``last_member``: the member id of the seat's last owner, empty for a new seat."""

    instance_id: str
    last_member: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinResult:
    """The coordinator's answer to a JoinGroup, or to the first heartbeat of a member (KIP-848).

    ``generation``: the member epoch in KIP-848 groups. ``leads``: whether the answer names the member as leader.
    """

    error: int
    member_id: str
    generation: int = -1
    leads: bool = False


class SeatedGroup(Protocol):
    """A group in mode ``on`` or ``observe``.

    All members use one protocol: classic, or KIP-848. In a KIP-848 group, a member's first heartbeat counts as a
    JoinGroup, and a heartbeat with epoch -1 as a LeaveGroup. An answer with an assignment also counts as a SyncGroup
    response. If a method returns an error code, the client gets this code.
    """

    @property
    def group_type(self) -> GroupType:
        """The protocol of the group's members: classic or consumer."""
        ...

    async def admitted(self, newcomer: Newcomer, connection: ClientConnection) -> GrantedSeat | None:
        """Wait until a JoinGroup may be sent. Return the seat whose instance id it gets; None to send it unchanged.

        Raises:
            ConnectionError: the client disconnected while its JoinGroup waited.
        """
        ...

    def seated(self, newcomer: Newcomer, result: JoinResult, connection: ClientConnection) -> bool:
        """Process the answer to a JoinGroup with an instance id; return whether the client gets this answer."""
        ...

    def withdraw(self, newcomer: Newcomer) -> None:
        """Withdraw a JoinGroup with an instance id whose client disconnected before the answer."""
        ...

    def join_answered(self, newcomer: Newcomer, result: JoinResult, connection: ClientConnection) -> int:
        """Process the answer to an unchanged JoinGroup; return the error code for the client."""
        ...

    def sync_answered(self, member_id: str, error: int, partitions: int) -> int:
        """Process the answer to a member's SyncGroup; ``partitions``: the number assigned, if there is no ``error``."""
        ...

    def heartbeat_answered(self, member_id: str, error: int, beat: EpochBeat | None = None) -> int:
        """Process the answer to a member's heartbeat; ``beat``: the epoch and new profile (None if classic)."""
        ...

    def answered(self, member_id: str, error: int, connection: ClientConnection, process: int) -> None:
        """Record that a member's own SyncGroup or heartbeat was answered; ``process``: the number of its connection."""
        ...

    def seat_of(self, member_id: str) -> str | None:
        """Return the instance id of a member's seat; empty if seats are only predicted, None if there is no seat."""
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
        """Record that a client has closed all its connections; ``process`` is the number of one of them."""
        ...

    def connections_opened(self, process: int) -> None:
        """Record that a client that had closed all its connections has opened one again."""
        ...

    def needs(self, connection: ClientConnection, *, may_have_crashed: bool) -> bool:
        """Whether the broker's side of a connection must stay open."""
        ...

    def forget(self, connection: ClientConnection) -> None:
        """Drop a connection that is closed on both sides."""
        ...

    def due(self) -> None:
        """Carry out the acts that are due by now."""
        ...

    def next_due(self) -> float | None:
        """Return the time of the next call of `due` in monotonic seconds; None: not before another input."""
        ...

    def stop(self, *, keep: bool = False) -> None:
        """Stop giving seats, holding JoinGroups and keeping seats.

        ``keep``: the next gateway restores the seats, so vacant seats are not given up if the rule has
        ``keep_stopped``.
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
