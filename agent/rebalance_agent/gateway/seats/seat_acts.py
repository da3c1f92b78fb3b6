"""Acts of the gateway for the seats of one group, as values: `GroupSeats` returns them; its caller carries them out.

``join`` identifies a JoinGroup (`Newcomer.join`). Every request that ends a membership contains the member id: a
LeaveGroup with only the instance id would remove whichever member has the seat.
"""

from __future__ import annotations

from dataclasses import dataclass

from rebalance_agent.gateway.seats.rules.act_reasons import GiveUpReason, PlainReason
from rebalance_agent.gateway.seats.rules.eligibility import SeatRefusal
from rebalance_agent.gateway.seats.rules.join_profile import ProfileDifference
from rebalance_agent.gateway.seats.rules.wait_times import Admission

__all__ = [
    "AnswerLeave",
    "ClaimLock",
    "ContinueSeat",
    "DescribeSeats",
    "ForwardJoin",
    "ForwardLeave",
    "ForwardSeated",
    "GiveUpSeat",
    "HoldJoin",
    "HoldLeave",
    "KeepSeat",
    "ReleaseLock",
    "SeatAct",
]


@dataclass(frozen=True, slots=True)
class ForwardJoin:
    """Send the client's own JoinGroup."""

    join: int
    reason: PlainReason | SeatRefusal


@dataclass(frozen=True, slots=True)
class ForwardSeated:
    """Send the JoinGroup with an instance id.

    ``returns``: another member had the seat before. ``joint``: the joint admission (at a multiple of the period) for
    which it waited; None if it did not wait for one.
    """

    join: int
    instance_id: str
    returns: bool
    joint: Admission | None = None


@dataclass(frozen=True, slots=True)
class HoldJoin:
    """Keep the JoinGroup, at most until ``until`` (seconds of the caller's clock)."""

    join: int
    until: float


@dataclass(frozen=True, slots=True)
class ForwardLeave:
    """Send the client's own LeaveGroup, even if its connection has been closed."""

    member_id: str
    reason: GiveUpReason | None


@dataclass(frozen=True, slots=True)
class HoldLeave:
    """Keep the LeaveGroup, at most until ``until`` (seconds of the caller's clock)."""

    member_id: str
    until: float


@dataclass(frozen=True, slots=True)
class AnswerLeave:
    """Answer the LeaveGroup with NONE instead of sending it; after all earlier requests of the client were answered."""

    member_id: str


@dataclass(frozen=True, slots=True)
class KeepSeat:
    """Send a heartbeat for the vacant member, but not after ``until`` (seconds of the caller's clock).

    In groups of KIP-848 this is another heartbeat with epoch -2, which only shows whether another gateway's newcomer
    has the seat.

    ``until`` matters if the gateway was suspended: a late heartbeat would make a group wait that has begun to
    rebalance.
    """

    instance_id: str
    member_id: str
    generation: int
    until: float


@dataclass(frozen=True, slots=True)
class ContinueSeat:
    """Send nothing: the coordinator confirmed the member that had this seat before the gateway restarted."""

    instance_id: str


@dataclass(frozen=True, slots=True)
class GiveUpSeat:
    """Send a LeaveGroup with both ids, which has no effect once a successor has the seat."""

    instance_id: str
    member_id: str
    reason: GiveUpReason | ProfileDifference


@dataclass(frozen=True, slots=True)
class ClaimLock:
    """Ask for the lock of a seat."""

    instance_id: str


@dataclass(frozen=True, slots=True)
class ReleaseLock:
    """Release the lock of a seat: another gateway may claim it."""

    instance_id: str


@dataclass(frozen=True, slots=True)
class DescribeSeats:
    """Describe the group and its locks: members, their instance ids and profiles, free locks, newcomers that wait."""


SeatAct = (
    ForwardJoin
    | ForwardSeated
    | HoldJoin
    | HoldLeave
    | ForwardLeave
    | AnswerLeave
    | KeepSeat
    | ContinueSeat
    | GiveUpSeat
    | ClaimLock
    | ReleaseLock
    | DescribeSeats
)
