"""Requests for locks, their answers, and changes of locks, as values."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = [
    "CLAIM",
    "RELEASE",
    "UNUSABLE",
    "LockAct",
    "LockAnswer",
    "LockBeat",
    "LockChange",
    "LockLoss",
    "MemberCheck",
    "SavedLock",
]

CLAIM = 0
"""Member epoch of a member that joins (KIP-848)."""
RELEASE = -2
"""Member epoch of a static member that leaves temporarily: another member may take its instance id at once."""


class LockLoss(StrEnum):
    """The reason why this gateway does not have a lock: a fixed set, for a counter's label."""

    TAKEN = "taken"
    """Another gateway has the lock, or this gateway had it before its restart."""
    LOST = "lost"
    """The coordinator no longer has the member, or has it with another epoch."""
    NOT_CONFIRMED = "not_confirmed"
    """A claim was not answered in time, or the last confirmation is too old."""
    FULL = "full"
    """The maximum number of locks is reached, here or in the helper group (``group.consumer.max.size``)."""
    UNSUPPORTED = "unsupported"
    """The cluster has no groups of KIP-848: ``group.version`` is below 1."""
    FORBIDDEN = "forbidden"
    """The client whose connection was used lacks Read permission on the helper group."""
    REFUSED = "refused"
    """The coordinator answered with another error."""


UNUSABLE = (LockLoss.UNSUPPORTED, LockLoss.FORBIDDEN)
"""Losses that apply to all locks of a group, until the cluster or its permissions change."""


@dataclass(frozen=True, slots=True)
class LockBeat:
    """A ConsumerGroupHeartbeat to be sent now or not at all; the requests for one group are sent in order.

    ``epoch``: `CLAIM`, `RELEASE`, or the member's epoch. ``sent_at``: seconds of the caller's clock. ``note``: text
    that other gateways read with the lock, even after its release; None leaves the text unchanged.
    """

    instance_id: str
    member_id: str
    epoch: int
    sent_at: float
    note: str | None = None


@dataclass(frozen=True, slots=True)
class LockAnswer:
    """The coordinator's answer: Kafka's error code, the member's epoch, and the requested heartbeat interval."""

    error: int
    epoch: int = 0
    interval_seconds: float = 5.0


@dataclass(frozen=True, slots=True)
class LockChange:
    """A lock was granted or confirmed (``loss`` is None), or this gateway does not have it.

    ``error``: Kafka's error code that caused a loss; 0 if there is none. It is passed to `GroupSeats.lock_answered`.
    """

    instance_id: str
    loss: LockLoss | None = None
    error: int = 0

    @property
    def granted(self) -> bool:
        """Whether this gateway has the lock."""
        return self.loss is None


@dataclass(frozen=True, slots=True)
class MemberCheck:
    """For a seat whose lock was granted: ask the coordinator whether the seat still has this member.

    Another gateway may have taken the seat and released the lock since the last description.
    """

    instance_id: str
    member_id: str


@dataclass(frozen=True, slots=True)
class SavedLock:
    """A granted lock, saved for the next run of the same gateway: instance id, member id, member epoch."""

    instance_id: str
    member_id: str
    epoch: int


LockAct = LockBeat | LockChange | MemberCheck
