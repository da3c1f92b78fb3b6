"""The facts this project publishes, one frozen value per kind, all under one schema version.

``event_id`` is derived from what the event is about, never from who saw it when: two replicas, a restart or a replay
of the topic give the same id. ``revision`` counts better evidence for the same fact; readers keep the highest.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.assignment_quality import AssignmentQuality
from rebalance_agent.model.episode import Evidence, FailureReason, Phases, Source, Stall, Trigger
from rebalance_agent.model.group import GroupType, RebalanceProtocol
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.rollout import RolloutEvent

__all__ = [
    "EVENT_KINDS",
    "SCHEMA_VERSION",
    "WHERE_MAX",
    "AbortedEvent",
    "AssignEvent",
    "Callback",
    "Event",
    "GenerationEvent",
    "GroupGoneEvent",
    "MemberEvent",
    "MemberSnapshot",
    "Workload",
    "event_id",
    "process_event_id",
]

SCHEMA_VERSION = 1
"""Raised when a field changes its meaning; added optional fields keep it."""


class Callback(StrEnum):
    """What happened in one member: a rebalance callback ran, or the consumer closed on purpose (``left``)."""

    REVOKED = "revoked"
    ASSIGNED = "assigned"
    LOST = "lost"
    LEFT = "left"


WHERE_MAX = 1_024
"""Characters of one downward-API value; names of Kubernetes objects have at most 253, images may carry a digest."""


@dataclass(frozen=True, slots=True)
class Workload:
    """Where a member runs, as Kubernetes' downward API says; people know pods, not member ids."""

    pod: str | None = None
    node: str | None = None
    workload: str | None = None
    image: str | None = None

    def __post_init__(self) -> None:
        """Refuse (`InvalidInputError`) what is too long to be kept for each member and told with each generation."""
        for name in ("pod", "node", "workload", "image"):
            if len(getattr(self, name) or "") > WHERE_MAX:
                raise InvalidInputError(f"where.{name}", f"must have at most {WHERE_MAX} characters")


@dataclass(frozen=True, slots=True)
class MemberSnapshot:
    """One member in one generation; with the others' it is enough to replay the assignor's decision.

    ``stop_seconds``: from the start of the rebalance until this member stopped working; None where unknown. ``where``
    it runs, if its sidecar has told.
    """

    member_id: str
    instance_id: str | None
    client_id: str
    host: str
    topics: tuple[str, ...]
    owned: TopicPartitions
    assigned: TopicPartitions
    rack: str | None = None
    user_data: bytes | None = None
    subscription_version: int | None = None
    session_timeout_ms: int | None = None
    rebalance_timeout_ms: int | None = None
    stop_seconds: float | None = None
    where: Workload | None = None


@dataclass(frozen=True, slots=True)
class GenerationEvent:
    """One generation that the coordinator completed.

    ``episode_generation`` is the first generation of its episode; the event with ``closes_episode`` carries ``stall``,
    ``trigger`` and ``causes`` of the whole episode, and ``followups`` counts the generations after the first.
    ``moved``/``needed``: partitions that changed owner / the fewest that this balance needed. ``parts`` > 1: the
    members are spread over that many events with equal other fields. ``migrated_from``: what type of group it was in
    the previous generation, if another. ``slowest_seconds``: how long the slowest member
    kept the others waiting. ``flapping``: who came or went in this episode as so often before, by
    instance or client id.
    """

    KIND: ClassVar[str] = "generation"

    event_id: str
    cluster_id: str
    group: str
    timestamp_ms: int
    source: Source
    group_type: GroupType
    generation: int
    previous_generation: int | None
    episode_generation: int
    closes_episode: bool
    followups: int
    assignor: str | None
    protocol: RebalanceProtocol
    phases: Phases
    trigger: Trigger
    causes: tuple[Trigger, ...]
    stall: Stall | None
    members: tuple[MemberSnapshot, ...]
    topics: Mapping[str, int]
    moved: int
    needed: int | None
    revoked: int
    assigned: int
    lost: int
    unassigned: int
    noop: bool
    skew_ratio: float | None = None
    imbalance: int | None = None
    slowest_member_id: str | None = None
    slowest_seconds: float | None = None
    revision: int = 0
    part: int = 0
    parts: int = 1
    epoch_kind: str = "generation"
    flapping: tuple[str, ...] | None = None
    migrated_from: GroupType | None = None

    @property
    def join_seconds(self) -> float | None:
        """Length of the join phase; None where there is none, since the coordinator assigns."""
        return self.phases.join_seconds if self.group_type is GroupType.CLASSIC else None

    @property
    def sync_seconds(self) -> float | None:
        """Length of the sync phase; None where there is none, since the coordinator assigns."""
        return self.phases.sync_seconds if self.group_type is GroupType.CLASSIC else None

    @property
    def reconcile_seconds(self) -> float | None:
        """From the coordinator's assignment until all members had theirs; None for classic groups."""
        return None if self.group_type is GroupType.CLASSIC else self.phases.sync_seconds


@dataclass(frozen=True, slots=True)
class AbortedEvent:
    """A generation that the coordinator began and never completed: the number is missing in a live tail.

    ``generations``: how many in a row, this one being the last; more than one only where many are missing at once.
    """

    KIND: ClassVar[str] = "aborted"

    event_id: str
    cluster_id: str
    group: str
    timestamp_ms: int
    source: Source
    group_type: GroupType
    generation: int
    reason: FailureReason
    revision: int = 0
    generations: int = 1


@dataclass(frozen=True, slots=True)
class GroupGoneEvent:
    """The coordinator deleted the group (a tombstone)."""

    KIND: ClassVar[str] = "group_gone"

    event_id: str
    cluster_id: str
    group: str
    timestamp_ms: int
    source: Source
    group_type: GroupType
    revision: int = 0


@dataclass(frozen=True, slots=True)
class MemberEvent:
    """A rebalance callback in one consumer process, by that process's own clock.

    ``timestamp_ms``: the callback returned; ``started_ms``: it was entered. ``partitions`` are those of this callback;
    ``generation`` is the one that the member was in when the callback was entered, -1 where its client does not say.
    ``reason``: why the client says that it happened; clients that say so later send the event again with a revision.
    ``reprocessed_records``: records that will be, or have been, consumed once more because of it; None where the client
    does not know how far it is. ``join_seconds`` and ``sync_seconds``: the member's wait for the answers to the
    JoinGroup and SyncGroup requests before it, in the event that follows them.

    ``evidence``: ``gateway`` where a gateway saw it in the member's frames, not its client in callbacks; None is the
    client. Then ``stop_seconds`` is from the answer that asked the member to rejoin until it did, and
    ``rejected_commits`` how many partitions' commits the coordinator has refused since the event before.
    """

    KIND: ClassVar[str] = "member"

    event_id: str
    group: str
    timestamp_ms: int
    callback: Callback
    client_id: str
    member_id: str
    generation: int
    started_ms: int
    partitions: TopicPartitions
    process: str
    sequence: int
    cluster_id: str = ""
    instance_id: str | None = None
    host: str | None = None
    error: str | None = None
    where: Workload | None = None
    revision: int = 0
    reason: str | None = None
    reprocessed_records: int | None = None
    join_seconds: float | None = None
    sync_seconds: float | None = None
    evidence: Evidence | None = None
    stop_seconds: float | None = None
    rejected_commits: int | None = None

    @property
    def asked_ms(self) -> int:
        """When the member learnt that it was to rejoin; else when it stopped."""
        return self.started_ms - round((self.stop_seconds or 0) * 1000)


@dataclass(frozen=True, slots=True)
class AssignEvent:
    """One ``assign()`` call in a group's leader. ``error`` is the exception's text where it failed."""

    KIND: ClassVar[str] = "assign"

    event_id: str
    group: str
    timestamp_ms: int
    assignor: str
    client_id: str
    generation: int
    duration_seconds: float
    members: int
    partitions: int
    process: str
    sequence: int
    cluster_id: str = ""
    quality: AssignmentQuality | None = None
    user_data_errors: Mapping[str, str] = field(default_factory=dict)
    error: str | None = None
    where: Workload | None = None
    revision: int = 0


Event = GenerationEvent | AbortedEvent | GroupGoneEvent | RolloutEvent | MemberEvent | AssignEvent
EVENT_KINDS: Mapping[str, type[Event]] = {
    kind.KIND: kind for kind in (GenerationEvent, AbortedEvent, GroupGoneEvent, RolloutEvent, MemberEvent, AssignEvent)
}
"""``kind`` in the JSON -> its class."""


def event_id(
    kind: str,
    cluster_id: str,
    group: str,
    group_type: GroupType,
    generation: int,
    timestamp_ms: int,
    *,
    member_id: str = "",
    part: int = 0,
) -> str:
    """Content-derived id of a group's fact: 32 hexadecimal digits.

    ``timestamp_ms`` is the closing record's, so that a group deleted and created again, or a static member's return
    within one generation, does not collide.
    """
    return _digest(kind, cluster_id, group, group_type, generation, timestamp_ms, member_id, part)


def process_event_id(kind: str, process: str, sequence: int) -> str:
    """Id of a fact that one process reports of itself; the same on every retry."""
    return _digest(kind, process, sequence)


def _digest(*parts: str | int) -> str:
    # Lengths before the texts: no choice of names makes two different tuples the same bytes.
    texts = [str(part).encode("utf-8", "surrogatepass") for part in parts]
    joined = b"".join(len(text).to_bytes(4, "big") + text for text in texts)
    return hashlib.blake2b(joined, digest_size=16).hexdigest()
