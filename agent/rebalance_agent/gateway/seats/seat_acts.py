"""Acts on the seats of one group, as values: `GroupSeats` returns acts, and its caller carries them out.

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
    which the newcomer waited; None if it waited for no joint admission.
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
    """Answer the LeaveGroup with NONE instead of sending it, once the client's earlier requests are answered."""

    member_id: str


@dataclass(frozen=True, slots=True)
class KeepSeat:
    """Send a heartbeat for a vacant seat's member, but not after ``until`` (seconds of the caller's clock).

    In KIP-848 groups this is another heartbeat with epoch -2, which only shows whether another gateway's newcomer has
    the seat.

    ``until`` matters if the gateway was suspended: after a group has begun to rebalance, a late heartbeat would make it
    wait.
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
    """Send a LeaveGroup with both ids; this has no effect once a successor has the seat."""

    instance_id: str
    member_id: str
    reason: GiveUpReason | ProfileDifference


@dataclass(frozen=True, slots=True)
class ClaimLock:
    """Request the lock of a seat."""

    instance_id: str


@dataclass(frozen=True, slots=True)
class ReleaseLock:
    """Release the lock of a seat, so that another gateway may claim the lock."""

    instance_id: str


@dataclass(frozen=True, slots=True)
class DescribeSeats:
    """Request descriptions of the group and its locks: members, instance ids, free seats, and waiting newcomers."""


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
