"""What a member and the coordinator say to each other: the classic group protocol without its bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import GroupAssignment, MemberSubscription

__all__ = ["GroupError", "JoinReply", "JoinRequest", "Party", "SyncRequest"]


class GroupError(StrEnum):
    """Kafka's error codes, as far as they occur here."""

    NONE = "NONE"
    MEMBER_ID_REQUIRED = "MEMBER_ID_REQUIRED"
    REBALANCE_IN_PROGRESS = "REBALANCE_IN_PROGRESS"
    UNKNOWN_MEMBER_ID = "UNKNOWN_MEMBER_ID"
    ILLEGAL_GENERATION = "ILLEGAL_GENERATION"
    FENCED_INSTANCE_ID = "FENCED_INSTANCE_ID"
    INCONSISTENT_GROUP_PROTOCOL = "INCONSISTENT_GROUP_PROTOCOL"


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """JoinGroup.

    ``offers``: strategy -> the subscription for it, best first, without a member id. ``reason``: KIP-800's, as a
    trigger.
    """

    member_id: str
    instance_id: str | None
    offers: Mapping[str, MemberSubscription]
    session_timeout_ms: int
    rebalance_timeout_ms: int
    reason: Trigger


@dataclass(frozen=True, slots=True)
class JoinReply:
    """The answer to a JoinGroup. The leader gets the group's ``members``; with ``skip`` there is nothing to decide.

    A static leader that returns to a stable group skips (KIP-814). ``explanation`` belongs to a refusal.
    """

    answer: GroupError
    member_id: str = ""
    generation: int = -1
    strategy: str = ""
    members: tuple[MemberSubscription, ...] | None = None
    skip: bool = False
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class SyncRequest:
    """SyncGroup; the leader's has its ``plan``."""

    member_id: str
    instance_id: str | None
    generation: int
    plan: GroupAssignment | None


class Party(Protocol):
    """A member's process, as the coordinator reaches it."""

    @property
    def name(self) -> str:
        """The name in the script."""
        ...

    def joined(self, reply: JoinReply) -> None:
        """The JoinGroup was answered."""
        ...

    def synced(self, answer: GroupError, partitions: TopicPartitions) -> None:
        """The SyncGroup was answered."""
        ...

    def rebalancing(self) -> None:
        """The next heartbeat will be answered by something else than before."""
        ...

    def expelled(self) -> None:
        """The member's work counts no more: it was removed, or the generation went on without it."""
        ...
