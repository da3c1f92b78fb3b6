"""The events that this project publishes: one frozen value per kind, under one schema version.

``event_id`` is derived from the fact itself, not from the observer or the time of observation: replicas, restarts and
replays of the topic give the same id. ``revision`` increases when better evidence for the same fact arrives; readers
keep the highest revision.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Annotated, ClassVar, get_args

from rebalance_agent.model.assignment_quality import AssignmentQuality
from rebalance_agent.model.episode import Evidence, FailureReason, Phases, Stall, Trigger
from rebalance_agent.model.group import GroupType, RebalanceProtocol, StreamsMember
from rebalance_agent.model.group_event import GroupEvent
from rebalance_agent.model.partition_ranges import ReportedPartitions
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.reported.client_metrics import ClientMetrics
from rebalance_agent.model.reported.deliveries_event import DeliveriesEvent
from rebalance_agent.model.reported.led_generation import LedGenerationEvent
from rebalance_agent.model.reported.member_software import ClientSoftware
from rebalance_agent.model.reported.seat_event import SeatEvent, SeatOccupant
from rebalance_agent.model.reported.workload import Workload
from rebalance_agent.model.rollout import RolloutEvent

__all__ = [
    "EVENT_KINDS",
    "MEMBER_PARTITIONS_MAX",
    "SCHEMA_VERSION",
    "STOP_SECONDS_MAX",
    "USER_DATA_BYTES_MAX",
    "AbortedEvent",
    "AssignEvent",
    "Callback",
    "Event",
    "GenerationEvent",
    "GroupGoneEvent",
    "MemberEvent",
    "MemberSnapshot",
    "Reported",
]

SCHEMA_VERSION = 1
"""Version of all events. It increases when a field changes its meaning, and not when optional fields are added."""


class Callback(StrEnum):
    """The kind of a member's event: a rebalance callback ran, or the consumer closed on purpose (``left``)."""

    REVOKED = "revoked"
    ASSIGNED = "assigned"
    LOST = "lost"
    LEFT = "left"


USER_DATA_BYTES_MAX = 49_152
"""Bytes of the longest user data of a member in an event: in base64, the longest text that readers of events accept."""

STOP_SECONDS_MAX = 86_400.0
"""Longest time to rejoin (s) that counts, since a report may contain any number."""

MEMBER_PARTITIONS_MAX = 100_000
"""Maximum number of partitions in one report of a member about itself: more than any consumer can hold."""


@dataclass(frozen=True, slots=True)
class MemberSnapshot:
    """One member in one generation. Those of all members are enough to replay the assignor's decision.

    ``stop_seconds``: from the start of the rebalance until this member stopped processing; None if unknown. ``where``:
    where it runs, if its sidecar reported that. ``user_data_bytes``: size of user data left out because it exceeds
    `USER_DATA_BYTES_MAX`; None if ``user_data`` is complete. ``occupant``: the consumer that now has the seat, if a
    gateway handed it over; ``client_id`` and ``host`` are its predecessor's. ``streams``: None for other group types.
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
    user_data_bytes: int | None = None
    occupant: SeatOccupant | None = None
    streams: StreamsMember | None = None


@dataclass(frozen=True, slots=True)
class GenerationEvent(GroupEvent):
    """One generation that the coordinator completed.

    ``episode_generation`` is the first generation of its episode. The event with ``closes_episode`` carries ``stall``,
    ``trigger`` and ``causes`` of the whole episode; ``followups`` counts the generations after the first.
    ``moved``/``needed``: partitions that changed owner / the fewest that this balance needed. ``lost``: partitions of
    members that failed; None if it is unknown how a member with partitions departed. ``lost_min``: those of members
    that certainly failed; None in events of earlier releases. ``revoked``: the others taken from their owners. These
    five are None if the generation before is unknown. ``parts`` > 1: the members are split over that many events with
    equal other fields. ``migrated_from``: the group's type in the previous generation, if it was another.
    ``slowest_seconds`` and ``slowest_lower_seconds``: how long the slowest member kept the others waiting, at most and
    at least. ``flapping``: members that joined or left in this episode and have done so often before, by instance or
    client id. ``leader_member_id``: the member that computed the assignment; None if the coordinator assigns, without
    members, and in events of earlier releases. ``assignor_wait_seconds``: for how long the coordinator's assignment was
    older than the group's epoch, before all members reached it; None for classic groups, if the start is unknown, and
    in events of earlier releases.
    """

    KIND: ClassVar[str] = "generation"

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
    moved: int | None
    needed: int | None
    revoked: int | None
    assigned: int
    lost: int | None
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
    lost_min: int | None = None
    slowest_lower_seconds: float | None = None
    slowest_client_id: str | None = None
    slowest_host: str | None = None
    leader_member_id: str | None = None
    assignor_wait_seconds: float | None = None

    @property
    def excess(self) -> int | None:
        """The moves that the balance did not need; None if that is unknown."""
        return None if self.moved is None or self.needed is None else max(0, self.moved - self.needed)

    @property
    def join_seconds(self) -> float | None:
        """Length of the join phase in seconds; None in groups whose coordinator assigns, which have none."""
        return self.phases.join_seconds if self.group_type is GroupType.CLASSIC else None

    @property
    def sync_seconds(self) -> float | None:
        """Length of the sync phase in seconds; None in groups whose coordinator assigns, which have none."""
        return self.phases.sync_seconds if self.group_type is GroupType.CLASSIC else None

    @property
    def reconcile_seconds(self) -> float | None:
        """Seconds from the coordinator's target assignment until all members reached it; None for classic groups."""
        return None if self.group_type is GroupType.CLASSIC else self.phases.sync_seconds


@dataclass(frozen=True, slots=True)
class AbortedEvent(GroupEvent):
    """A generation that the coordinator started and never completed: its number is missing in the log.

    ``generations``: how many were missing in a row, of which this is the last.
    """

    KIND: ClassVar[str] = "aborted"

    generation: int
    reason: FailureReason
    revision: int = 0
    generations: int = 1


@dataclass(frozen=True, slots=True)
class GroupGoneEvent(GroupEvent):
    """The coordinator deleted the group (a tombstone)."""

    KIND: ClassVar[str] = "group_gone"

    revision: int = 0


@dataclass(frozen=True, slots=True)
class MemberEvent:
    """A rebalance callback ran in one consumer process, or the consumer closed; times are by that process's clock.

    The annotations are the descriptions in its JSON Schema.
    """

    KIND: ClassVar[str] = "member"

    event_id: Annotated[
        str, "id of the fact, the same at each retry. If a post has none, it is derived from process and sequence"
    ]
    group: Annotated[str, "the group's id"]
    timestamp_ms: Annotated[int, "epoch milliseconds when the callback returned"]
    callback: Annotated[Callback, "the callback that ran; left: the consumer closed on purpose"]
    client_id: Annotated[str, "the client id that the client sets (`client.id`)"]
    member_id: Annotated[str, "the member id that the coordinator assigned; empty if the client does not provide it"]
    generation: Annotated[
        int, "the member's generation when the callback was entered; -1 if the client does not provide it"
    ]
    started_ms: Annotated[int, "epoch milliseconds when the callback was entered"]
    partitions: Annotated[ReportedPartitions, "the partitions passed to the callback"]
    process: Annotated[str, "random id of the process, a new one at each start"]
    sequence: Annotated[int, "counts the events of the process"]
    cluster_id: Annotated[str, "the cluster's id; the sidecar adds it"] = ""
    instance_id: Annotated[str | None, "group.instance.id of a static member"] = None
    host: Annotated[str | None, "the member's address"] = None
    error: Annotated[str | None, "the exception with which the callback failed"] = None
    where: Annotated[Workload | None, "where the member runs; the sidecar adds it"] = None
    revision: Annotated[int, "higher if the event is sent again with more information"] = 0
    reason: Annotated[str | None, "the cause of the rebalance according to the client"] = None
    reprocessed_records: Annotated[
        int | None, "records that are consumed again because of the rebalance; absent if the client has no position"
    ] = None
    join_seconds: Annotated[float | None, "time until the response to JoinGroup, before the callback"] = None
    sync_seconds: Annotated[float | None, "time from the response to JoinGroup to that to SyncGroup"] = None
    evidence: Annotated[
        Evidence | None, "gateway if a gateway derived the event from the member's frames; absent if a client reports"
    ] = None
    stop_seconds: Annotated[
        float | None, "from gateways: time from the response that asked the member to rejoin until the member rejoined"
    ] = None
    rejected_commits: Annotated[
        int | None, "from gateways: partitions whose commits were rejected since the previous event"
    ] = None
    callback_seconds: Annotated[
        float | None, "from gateways: how long the callback took, according to the client's own metrics (KIP-714)"
    ] = None
    software: Annotated[
        ClientSoftware | None,
        "the client library, as an instrumented client reports it or as a client names it to a gateway (KIP-511)",
    ] = None
    client_metrics: Annotated[
        ClientMetrics | None, "from gateways: what the client pushed (KIP-714) since the member's previous event"
    ] = None

    @property
    def asked_ms(self) -> int:
        """Epoch milliseconds when the member was notified that it must rejoin, or else when it stopped processing."""
        return self.started_ms - round(min(self.stop_seconds or 0.0, STOP_SECONDS_MAX) * 1000)

    @property
    def ran_seconds(self) -> float | None:
        """How long the callback took; None if only a gateway reported it, and the client pushed no duration."""
        if self.evidence is Evidence.GATEWAY:
            return self.callback_seconds
        return max(0, self.timestamp_ms - self.started_ms) / 1000


@dataclass(frozen=True, slots=True)
class AssignEvent:
    """One ``assign()`` call in a group's leader. ``error`` is the text of the exception where it failed."""

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


Reported = MemberEvent | AssignEvent | SeatEvent | LedGenerationEvent | DeliveriesEvent
"""An event of a sidecar or a gateway."""

Event = GenerationEvent | AbortedEvent | GroupGoneEvent | RolloutEvent | Reported
EVENT_KINDS: Mapping[str, type[Event]] = {kind.KIND: kind for kind in get_args(Event)}
"""``kind`` in JSON -> event class."""
