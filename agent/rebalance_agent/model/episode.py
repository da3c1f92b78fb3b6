"""What is said of one rebalance: closed sets, phases and stall.

An *episode* is a rebalance as its users feel it: usually one generation, with cooperative assignors often two or more
(the follow-up generations hand over what the first one revoked).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["TRIGGER_PRECEDENCE", "Basis", "Evidence", "FailureReason", "Phases", "Source", "Stall", "Trigger"]


class Trigger(StrEnum):
    """Why a rebalance happened. A closed set: metrics, alerts and tables rely on it."""

    GROUP_STARTED = "group_started"
    MEMBER_FAILED = "member_failed"
    MEMBER_LEFT = "member_left"
    MEMBER_GONE = "member_gone"
    MEMBER_REPLACED = "member_replaced"
    MEMBER_JOINED = "member_joined"
    SUBSCRIPTION_CHANGED = "subscription_changed"
    ASSIGNOR_CHANGED = "assignor_changed"
    TOPICS_CHANGED = "topics_changed"
    PARTITIONS_CHANGED = "partitions_changed"
    REJOIN = "rejoin"
    UNKNOWN = "unknown"


TRIGGER_PRECEDENCE: tuple[Trigger, ...] = tuple(Trigger)
"""Of several causes the counter takes the first in this order; the event lists them all."""


class Basis(StrEnum):
    """How a stall is known: measured where members reported it, otherwise an upper bound."""

    EXACT = "exact"
    BOUND = "bound"


class Evidence(StrEnum):
    """Where a moment in time comes from."""

    MEMBERS = "members"
    GATEWAY = "gateway"
    LIST = "list"
    RECORD = "record"


class Source(StrEnum):
    """Where a group's facts come from: the offsets topic, or polls of the admin API."""

    RECORDS = "records"
    ADMIN = "admin"


class FailureReason(StrEnum):
    """Why a rebalance came to nothing."""

    ABORTED = "aborted"
    ASSIGN_ERROR = "assign_error"


@dataclass(frozen=True, slots=True)
class Phases:
    """Moments of one generation in epoch milliseconds, each with its evidence; None where nobody knows.

    ``started``: the coordinator asked members to rejoin. ``joined``: the join phase ended
    (``currentStateTimestamp`` of the record). ``completed``: the leader's assignment was stored. Of groups whose
    coordinator assigns: the new epoch, its assignment, and the last member that had it.
    """

    completed_ms: int
    completed_evidence: Evidence
    started_ms: int | None = None
    started_evidence: Evidence | None = None
    joined_ms: int | None = None
    joined_evidence: Evidence | None = None

    @property
    def join_seconds(self) -> float | None:
        """Length of the join phase: the wait for the slowest member."""
        if self.started_ms is None or self.joined_ms is None:
            return None
        return max(0, self.joined_ms - self.started_ms) / 1000

    @property
    def sync_seconds(self) -> float | None:
        """Length of the sync phase: ``assign()`` in the leader and its answer's way to the coordinator."""
        return None if self.joined_ms is None else max(0, self.completed_ms - self.joined_ms) / 1000


@dataclass(frozen=True, slots=True)
class Stall:
    """How long partitions stood still in an episode.

    ``seconds``: the longest standstill of one partition. ``lower_seconds`` <= truth <= ``seconds`` where the basis is
    ``bound``; equal where it is ``exact``. ``partition_seconds``: the sum over all partitions, without what is merely
    possible: the session timeouts of members that went without a word.
    """

    seconds: float
    lower_seconds: float
    partition_seconds: float
    basis: Basis
