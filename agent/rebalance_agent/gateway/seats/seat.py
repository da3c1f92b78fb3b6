"""Stores the state of one seat at its gateway, and the seats of one group."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from rebalance_agent.gateway.seats.rules.act_reasons import GiveUpReason
from rebalance_agent.gateway.seats.rules.eligibility import LastMember
from rebalance_agent.gateway.seats.rules.join_profile import JoinProfile, ProfileDifference
from rebalance_agent.gateway.seats.rules.seat_settings import SeatSettings

__all__ = ["EpochBeat", "Seat", "SeatState", "SeatTable"]


@dataclass(frozen=True, slots=True)
class EpochBeat:
    """An accepted heartbeat of a member (KIP-848). ``epoch``: the member epoch after this heartbeat.

    ``profile``: the member's new profile, if the heartbeat changes its subscription.
    """

    epoch: int
    profile: JoinProfile | None = None


class SeatState(StrEnum):
    """The state of a seat: a fixed set, for a gauge's label."""

    JOINING = "joining"
    """A JoinGroup with the seat's instance id was sent and is not answered. No heartbeat is sent for the seat."""
    OCCUPIED = "occupied"
    """A consumer behind this gateway has the seat, and sends its own heartbeats."""
    DISCONNECTED = "disconnected"
    """The process of the seat's consumer has closed all its connections. No heartbeat is sent for the seat, since the
    consumer may be alive and only reconnecting."""
    VACANT = "vacant"
    """The consumer has left. The coordinator does not detect this: the gateway sends heartbeats for the seat."""
    GIVEN_UP = "given_up"
    """A LeaveGroup was sent for the seat; no more heartbeats are sent."""


@dataclass(slots=True)
class Seat:
    """A static membership that the gateway gave to a consumer.

    ``member_id``, ``generation``: the last member's id and generation in the coordinator; empty and -1
    before the first member. ``version``: the version of that member's JoinGroup. ``returned``: the member returned to a
    stable group; if it leads (``leads``), it was not elected in a rebalance. ``for_newcomer``: a vacant seat is kept
    only for a newcomer that already waits. ``rejoin_due``: the member must rejoin. ``locked``: this gateway has the
    lock. ``process``: None if unknown. ``partitions``: the number of partitions in the member's last assignment.

    Times are in seconds of the caller's clock. ``heard_at``: when the coordinator last accepted a request of the
    member. ``free_at``: when a newcomer may take a free seat; infinite until the coordinator has confirmed the member
    after a restart of the gateway. ``vacant_since`` and ``vacant_until``: the time for which the seat is vacant.
    ``next_at``: when the next act is due. ``expires_at``: when the coordinator has certainly removed the member.
    """

    instance_id: str
    profile: JoinProfile | None
    state: SeatState
    member_id: str = ""
    generation: int = -1
    version: int = 0
    leads: bool = False
    returned: bool = False
    rejoin_due: bool = False
    heard_at: float = 0.0
    for_newcomer: bool = False
    locked: bool = True
    process: int | None = None
    partitions: int = 0
    free_at: float = 0.0
    vacant_since: float = 0.0
    vacant_until: float = 0.0
    next_at: float = 0.0
    given_up_for: GiveUpReason | ProfileDifference | None = None
    expires_at: float = 0.0

    @property
    def last_member(self) -> LastMember:
        """The properties of the last member; a successor is compared with them."""
        return LastMember(self.profile, self.leads)

    @property
    def free(self) -> bool:
        """Whether a newcomer behind this gateway may take the seat."""
        return self.state in (SeatState.VACANT, SeatState.DISCONNECTED)

    def beaten(self, beat: EpochBeat) -> None:
        """Record that the coordinator accepted a heartbeat of the seat's member (KIP-848)."""
        self.generation = beat.epoch
        if beat.profile is not None:
            self.profile = beat.profile

    def expired(self, now: float) -> bool:
        """Whether the coordinator has removed the member, since it accepted no request of it for a session timeout."""
        return now >= self.heard_at + self.session_seconds

    @property
    def session_seconds(self) -> float:
        """The session timeout in seconds; 0 if unknown."""
        return 0.0 if self.profile is None else self.profile.session_timeout_ms / 1000


class SeatTable:
    """The seats of one group, by instance id and by member id."""

    def __init__(self, settings: SeatSettings) -> None:
        """Start without seats; ``settings`` limits the number of seats (``seats_max``)."""
        self.settings = settings
        self._seats: dict[str, Seat] = {}
        self._by_member: dict[str, Seat] = {}

    def __iter__(self) -> Iterator[Seat]:
        """Iterate over a copy of the seats, so that seats may be removed meanwhile."""
        return iter(tuple(self._seats.values()))

    def __len__(self) -> int:
        """The number of seats."""
        return len(self._seats)

    @property
    def full(self) -> bool:
        """Whether no seat may be added."""
        return len(self._seats) >= self.settings.seats_max

    def get(self, instance_id: str) -> Seat | None:
        """Return the seat with this instance id."""
        return self._seats.get(instance_id)

    def of_member(self, member_id: str) -> Seat | None:
        """Return the seat whose last member has this id."""
        return self._by_member.get(member_id) if member_id else None

    def of_process(self, process: int | None) -> list[Seat]:
        """Return the seats of a process; none if ``process`` is None."""
        return [] if process is None else [seat for seat in self if seat.process == process]

    def add(self, seat: Seat) -> None:
        """Add a seat, replacing any seat with the same instance id."""
        self.remove(seat.instance_id)
        self._seats[seat.instance_id] = seat
        if seat.member_id:
            self._by_member[seat.member_id] = seat

    def rename(self, seat: Seat, member_id: str) -> None:
        """Set the seat's last member."""
        self._by_member.pop(seat.member_id, None)
        seat.member_id = member_id
        self._by_member[member_id] = seat

    def remove(self, instance_id: str) -> None:
        """Remove a seat, if there is one with this instance id."""
        seat = self._seats.pop(instance_id, None)
        if seat is not None:
            self._by_member.pop(seat.member_id, None)
