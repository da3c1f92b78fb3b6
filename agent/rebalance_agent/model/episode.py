"""Parts of the description of one rebalance: its trigger, its phases and its stall.

An *episode* is a rebalance as its users see it: usually one generation; with cooperative assignors often two or more,
since follow-up generations assign what the first one revoked.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

__all__ = ["TRIGGER_PRECEDENCE", "Basis", "Evidence", "FailureReason", "Phases", "Source", "Stall", "Trigger"]


class Trigger(StrEnum):
    """The cause of a rebalance. A fixed set, on which metrics, alerts and tables rely."""

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
    RACKS_CHANGED = "racks_changed"
    REJOIN = "rejoin"
    UNKNOWN = "unknown"


TRIGGER_PRECEDENCE: tuple[Trigger, ...] = tuple(Trigger)
"""Order in which one cause of several is chosen for the counter; the event lists all of them."""


class Basis(StrEnum):
    """The basis of a stall: measured from members' reports, or derived as two bounds."""

    EXACT = "exact"
    BOUND = "bound"


class Evidence(StrEnum):
    """The source of a timestamp. ``LIST``: polls of ListGroups, or of descriptions with epochs."""

    MEMBERS = "members"
    GATEWAY = "gateway"
    LIST = "list"
    RECORD = "record"


class Source(StrEnum):
    """The source of a group's facts: records of the offsets topic, its leaders' frames, or polls of the admin API.

    ``DESCRIBE``: descriptions with epochs, which show generations; with ``ADMIN`` they do not.
    """

    RECORDS = "records"
    FRAMES = "frames"
    DESCRIBE = "describe"
    ADMIN = "admin"


class FailureReason(StrEnum):
    """The reason why a rebalance did not complete."""

    ABORTED = "aborted"
    ASSIGN_ERROR = "assign_error"


@dataclass(frozen=True, slots=True)
class Phases:
    """Timestamps of one generation in epoch milliseconds, each with its evidence; None if not known.

    ``started``: the coordinator asked the members to rejoin, between ``started_ms`` and ``started_latest_ms``.
    ``joined``: the join phase ended (``currentStateTimestamp`` of the record). ``completed``: the leader's assignment
    was stored. In groups whose coordinator assigns, these are: the group epoch rose, the target assignment was made,
    and the last member reached it.
    """

    completed_ms: int
    completed_evidence: Evidence
    started_ms: int | None = None
    started_evidence: Evidence | None = None
    joined_ms: int | None = None
    joined_evidence: Evidence | None = None
    started_latest_ms: int | None = None

    @property
    def join_seconds(self) -> float | None:
        """Length of the join phase in seconds, which ends when the slowest member has joined."""
        if self.started_ms is None or self.joined_ms is None:
            return None
        return max(0, self.joined_ms - self.started_ms) / 1000

    @property
    def sync_seconds(self) -> float | None:
        """Length of the sync phase in seconds: ``assign()`` in the leader, and its result's way to the coordinator."""
        return None if self.joined_ms is None else max(0, self.completed_ms - self.joined_ms) / 1000


@dataclass(frozen=True, slots=True)
class Stall:
    """The stall of an episode: for how many seconds partitions were not processed.

    The longest stall of one partition lies between ``lower_seconds`` and ``seconds``, the sum over all partitions
    between ``partition_seconds`` and ``upper_partition_seconds``. With basis ``exact`` the bounds are equal. The upper
    ones are None if nothing shows when some partition was processed again.
    """

    seconds: float | None
    lower_seconds: float
    partition_seconds: float
    basis: Basis
    upper_partition_seconds: float | None = None
