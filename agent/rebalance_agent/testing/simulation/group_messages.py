"""Defines requests and responses between members and the coordinator: the classic group protocol without encoding."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.subscription import GroupAssignment, MemberSubscription

__all__ = ["GroupError", "JoinReply", "JoinRequest", "ResponseReceiver", "SyncRequest"]


class GroupError(StrEnum):
    """The error codes of Kafka that the simulation uses."""

    NONE = "NONE"
    MEMBER_ID_REQUIRED = "MEMBER_ID_REQUIRED"
    REBALANCE_IN_PROGRESS = "REBALANCE_IN_PROGRESS"
    UNKNOWN_MEMBER_ID = "UNKNOWN_MEMBER_ID"
    ILLEGAL_GENERATION = "ILLEGAL_GENERATION"
    FENCED_INSTANCE_ID = "FENCED_INSTANCE_ID"
    INCONSISTENT_GROUP_PROTOCOL = "INCONSISTENT_GROUP_PROTOCOL"


@dataclass(frozen=True, slots=True)
class JoinRequest:
    """A JoinGroup request.

    ``offers``: strategy -> subscription for this strategy without a member id, best strategy first. ``reason``: why the
    member joins (KIP-800), as a trigger.
    """

    member_id: str
    instance_id: str | None
    offers: Mapping[str, MemberSubscription]
    session_timeout_ms: int
    rebalance_timeout_ms: int
    reason: Trigger


@dataclass(frozen=True, slots=True)
class JoinReply:
    """The response to a JoinGroup.

    Only the leader gets the group's ``members``. With ``skip``, the leader does not assign: a static leader has
    returned to a stable group (KIP-814). ``explanation``: why a member is refused.
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
    """A SyncGroup request; the leader's request has the assignment as ``plan``."""

    member_id: str
    instance_id: str | None
    generation: int
    plan: GroupAssignment | None


class ResponseReceiver(Protocol):
    """The interface of a member's process that the coordinator uses: it receives responses."""

    @property
    def name(self) -> str:
        """The member's name in the script."""
        ...

    def joined(self, reply: JoinReply) -> None:
        """Receive the response to a JoinGroup."""
        ...

    def synced(self, answer: GroupError, partitions: TopicPartitions) -> None:
        """Receive the response to a SyncGroup."""
        ...

    def rebalancing(self) -> None:
        """Announce that the response to the next heartbeat differs from the last one."""
        ...

    def expelled(self) -> None:
        """Announce that the member owns nothing: it was removed, or the generation continued without it."""
        ...
