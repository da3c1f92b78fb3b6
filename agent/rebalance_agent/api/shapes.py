"""The API's answers as frozen dataclasses, the source of its JSON, its OpenAPI document and ``docs/api.md``.

Times are epoch milliseconds, durations seconds. A field that is None is unknown, and is left out of the JSON. Users
read the descriptions and the docstrings of the classes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from typing import Annotated

from rebalance_agent.api.parts.counter_parts import GroupCounters
from rebalance_agent.api.parts.rebalance_parts import GenerationStep, LastRebalance, SlowestMember
from rebalance_agent.model.episode import Source, Stall, Trigger
from rebalance_agent.model.epoch_groups import StreamsTopology
from rebalance_agent.model.events import Event
from rebalance_agent.model.group import DeadLetterQueue, GroupState, GroupType, RebalanceProtocol, StreamsMember
from rebalance_agent.model.partitions import TopicPartitions
from rebalance_agent.model.reported.deliveries_event import ShareDeliveries
from rebalance_agent.model.reported.member_software import ClientSoftware
from rebalance_agent.model.reported.seat_event import SeatOccupant
from rebalance_agent.model.reported.workload import Workload
from rebalance_agent.tracking.evidence.doubly_owned import FormerOwner
from rebalance_agent.tracking.lag.catch_up import CatchUp
from rebalance_agent.tracking.lag.group_lag import StuckPartition, TopicLag
from rebalance_agent.tracking.patterns.empty_groups import EmptyGroup
from rebalance_agent.tracking.views import RunningRebalance

__all__ = [
    "ApiError",
    "GroupDetail",
    "GroupList",
    "GroupMember",
    "GroupStall",
    "GroupSummary",
    "HostSpreadSummary",
    "LagSummary",
    "Rebalance",
    "RebalanceDetail",
    "RebalanceKind",
    "RebalanceList",
    "values_of",
]


def values_of(kind: type[Enum]) -> tuple[str, ...]:
    """Return the values of an enumeration that an answer can have; never Dead, since answers omit dead groups."""
    return tuple(str(member.value) for member in kind if member is not GroupState.DEAD)


class RebalanceKind(StrEnum):
    """Whether a rebalance completed."""

    COMPLETED = "completed"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True)
class ApiError:
    """An error."""

    error: Annotated[str, "the error, and how to correct it"]


@dataclass(frozen=True, slots=True)
class LagSummary:
    """The lag of a group."""

    offsets: Annotated[int, "offsets from committed to end; in share groups, records not yet acknowledged or archived"]
    seconds: Annotated[float | None, "age of the oldest unread record, computed from the growth of end offsets"]
    appended_per_second: Annotated[float | None, "offsets per second by which the end offsets grow"]
    stuck: Annotated[StuckPartition | None, "the owned partition without progress for the longest time, if any"]
    catch_up: Annotated[CatchUp | None, "the latest catch-up of moved partitions (lower bounds); null in share groups"]


@dataclass(frozen=True, slots=True)
class HostSpreadSummary:
    """The spread of the partitions of a group's topics over the hosts of its members."""

    topics: Annotated[int, "topics that could be on several hosts"]
    on_one_host: Annotated[int, "number of these topics whose partitions are all owned by members on one host"]
    hosts: Annotated[int, "hosts that could own partitions of these topics"]
    ratio: Annotated[float, "hosts that own partitions, divided by the possible number; mean over topics; 1 is best"]
    clustered_ratio: Annotated[float, "`on_one_host` divided by `topics`; 0 if chance can explain the value"]


@dataclass(frozen=True, slots=True)
class GroupStall:
    """The stall of a group whose share of certainly stalled partitions reached the share in `stall_limits`."""

    since_ms: Annotated[int, "when the stall began"]
    warning_seconds: Annotated[float, "duration from which `KafkaGroupStalled` counts the stall"]
    critical_seconds: Annotated[float, "duration from which `KafkaGroupStalledLong` counts the stall"]


@dataclass(frozen=True, slots=True)
class GroupSummary:
    """One line of the list of groups."""

    group: Annotated[str, "the group's id"]
    group_type: Annotated[GroupType, "the type, according to the protocol of the members"]
    state: Annotated[GroupState, "the state, with the broker's spelling"]
    source: Annotated[Source, "data source: the `records`, reported `frames`, `describe` requests, or `admin` polls"]
    generation: Annotated[int | None, "generation; the group epoch if the coordinator assigns the partitions"]
    assignor: Annotated[str | None, "the assignor that was chosen"]
    protocol: Annotated[RebalanceProtocol, "whether all partitions stop in a rebalance, or only those that move"]
    members: Annotated[int, "number of members"]
    partitions: Annotated[int | None, "partitions of all subscribed topics"]
    unassigned: Annotated[int | None, "partitions without an owner"]
    copartition_breaks: Annotated[int | None, "partition numbers whose owners differ between `copartitioned` topics"]
    skew_ratio: Annotated[float | None, "partitions of the most loaded member divided by its target; 1 is best"]
    host_spread: Annotated[HostSpreadSummary | None, "the spread over hosts, if a topic could be on several hosts"]
    idle_members: Annotated[int | None, "members without partitions that should have at least one"]
    former_owner: Annotated[FormerOwner | None, "the last removed member that kept partitions of a new owner"]
    flapping: Annotated[tuple[str, ...], "members that repeatedly leave and return, by instance or client id"]
    rollout_in_progress: Annotated[bool, "whether members are being replaced in a deploy, without failures"]
    running: Annotated[RunningRebalance | None, "the running rebalance; it waits for the members in `pending`"]
    unsettled_ms: Annotated[int | None, "when the last rebalance completed, if it has not settled yet"]
    stalled: Annotated[GroupStall | None, "the stall of the group in the running rebalance, if there is one"]
    rebalance_timeout_seconds: Annotated[float | None, "largest of the members' rebalance timeouts"]
    empty: Annotated[EmptyGroup | None, "when the group became Empty; absent for groups in `empty_groups_allow`"]
    lag: Annotated[LagSummary | None, "the lag at the last measurement, if the group is in `lag_groups`"]
    rebalances: Annotated[int, "rebalances that completed since this process detected the group, settled or not"]
    aborted: Annotated[int, "generations that began but never completed since this process detected the group"]
    last: Annotated[LastRebalance | None, "the last rebalance that settled"]
    recent_ms: Annotated[
        tuple[int, ...], "completion times of the last rebalance and of those in the 15 minutes before it; at most 64"
    ]


@dataclass(frozen=True, slots=True)
class GroupList:
    """The matching groups, in the requested order."""

    now_ms: Annotated[int, "the agent's clock"]
    total: Annotated[int, "number of matching groups; `groups` may contain fewer"]
    offset: Annotated[int, "number of skipped groups"]
    groups: Annotated[tuple[GroupSummary, ...], "at most `limit` groups"]


@dataclass(frozen=True, slots=True)
class GroupMember:
    """One member and its partitions."""

    member_id: Annotated[str, "the member id that the coordinator assigned"]
    instance_id: Annotated[str | None, "`group.instance.id` of a static member"]
    client_id: Annotated[str, "the client id that the client sets (`client.id`)"]
    host: Annotated[str, "the member's address"]
    assigned: Annotated[TopicPartitions | None, "the member's partitions by topic, as ranges such as `0-4,7`"]
    partitions: Annotated[int | None, "number of these partitions"]
    target: Annotated[float | None, "number of partitions that the strategy promises the member"]
    where: Annotated[Workload | None, "pod, node, workload and image, if the member reports them"]
    occupant: Annotated[
        SeatOccupant | None,
        "the consumer that now has the member's seat, if a gateway handed it over; `client_id` and `host` remain "
        "those of the seat's first consumer, as in the coordinator",
    ]
    software: Annotated[ClientSoftware | None, "name and version of the client library, if it is reported"]
    streams: Annotated[StreamsMember | None, "process and tasks, in streams groups (KIP-1071)"]


@dataclass(frozen=True, slots=True)
class GroupDetail:
    """The current state of one group."""

    now_ms: Annotated[int, "the agent's clock"]
    summary: Annotated[GroupSummary, "the group, as in the list of groups"]
    first_seen_ms: Annotated[int, "when this process detected the group; the group's counters start at this time"]
    leader_member_id: Annotated[str | None, "member that computed the assignment, unless the coordinator did"]
    members: Annotated[tuple[GroupMember, ...], "by member id"]
    static_members: Annotated[int, "members with an instance id"]
    imbalance: Annotated[int | None, "highest number of partitions above a member's target; 0 is best"]
    lag_skew_ratio: Annotated[float | None, "skew by lag, if the group is in `lag_groups`"]
    rate_skew_ratio: Annotated[float | None, "skew by produced records, if the group is in `lag_groups`"]
    topic_lags: Annotated[tuple[TopicLag, ...] | None, "lag by topic, highest first, if the group is in `lag_groups`"]
    copartition_breaks: Annotated[int | None, "partition numbers whose owners differ between `copartitioned` topics"]
    dead_letter_queue: Annotated[DeadLetterQueue | None, "queue of a share group, if brokers return it (Kafka 4.4)"]
    deliveries: Annotated[ShareDeliveries | None, "records of a share group that gateways report as delivered"]
    topology: Annotated[StreamsTopology | None, "subtopologies of a streams group whose topics exist"]
    topic_spread: Annotated[Mapping[str, float], "how evenly each topic is spread over the members; 1 is best"]
    rebalance_timeout_seconds: Annotated[float | None, "largest of the members' rebalance timeouts"]
    metadata_bytes: Annotated[int | None, "size of the group's record"]
    last_join_seconds: Annotated[float | None, "longest join phase of the last rebalance"]
    last_sync_seconds: Annotated[float | None, "longest sync phase of the last rebalance"]
    last_assignor_wait_seconds: Annotated[float | None, "longest wait for the assignment of a new epoch"]
    last_reconcile_seconds: Annotated[float | None, "longest time from the assignment until all members reached it"]
    slowest: Annotated[SlowestMember | None, "the member that delayed the last rebalance"]
    counters: Annotated[GroupCounters, "totals"]
    counted_until_ms: Annotated[int, "time up to which partition-seconds are counted"]


@dataclass(frozen=True, slots=True)
class Rebalance:
    """One rebalance: one generation, or several if the assignor needs follow-ups."""

    id: Annotated[str, "`event_id` of its last generation's event"]
    kind: Annotated[RebalanceKind, "a rebalance that is `aborted` has only the fields up to `previous_generation`"]
    timestamp_ms: Annotated[int, "when the rebalance ended; if `kind` is `aborted`, the time of the next record"]
    generation: Annotated[int, "the last generation; if `kind` is `aborted`, the last missing generation"]
    previous_generation: Annotated[int | None, "the group's generation before this rebalance"]
    started_ms: Annotated[int | None, "when the coordinator began to ask the members to rejoin"]
    trigger: Annotated[Trigger | None, "the most serious cause"]
    causes: Annotated[tuple[Trigger, ...], "all causes, the most serious first, not in chronological order"]
    stall: Annotated[Stall | None, "the stall of the rebalance"]
    assignor: Annotated[str | None, "the assignor that was chosen"]
    protocol: Annotated[RebalanceProtocol | None, "whether all partitions stopped, or only those that moved"]
    leader_member_id: Annotated[str | None, "member that computed the assignment, unless the coordinator did"]
    members: Annotated[int, "number of members after the rebalance"]
    moved: Annotated[int | None, "partitions that changed owner, if the previous generation is known"]
    needed: Annotated[int | None, "the fewest moves that the balance required"]
    revoked: Annotated[int | None, "revoked partitions, if the previous generation is known"]
    assigned: Annotated[int, "assigned partitions"]
    lost: Annotated[int | None, "partitions of failed members, if it is known how all members departed"]
    lost_min: Annotated[int | None, "partitions of members that certainly failed"]
    unassigned: Annotated[int, "partitions without an owner after the rebalance"]
    noop: Annotated[bool, "whether the assignment did not change"]
    slowest: Annotated[SlowestMember | None, "the member that delayed the other members"]
    revision: Annotated[int, "number of updates with better evidence"]
    generations: Annotated[tuple[GenerationStep, ...], "the generations of the rebalance, in order"]


@dataclass(frozen=True, slots=True)
class RebalanceList:
    """The last rebalances of a group."""

    group: Annotated[str, "the group's id"]
    rebalances: Annotated[tuple[Rebalance, ...], "newest first"]
    rollouts: Annotated[tuple[Event, ...], "deploys that caused some of these rebalances, newest first"]


@dataclass(frozen=True, slots=True)
class RebalanceDetail:
    """One rebalance with its published events."""

    group: Annotated[str, "the group's id"]
    rebalance: Annotated[Rebalance, "the rebalance, as in the list of rebalances"]
    events: Annotated[tuple[Event, ...], "the events of the rebalance in order, as in the topic `rebalance-events`"]
    reports: Annotated[tuple[Event, ...], "the members' reports from that time, oldest first; long ones are shortened"]
    before: Annotated[
        tuple[Event, ...],
        "the previous generation, if it is from before the agent's start and was therefore not published",
    ] = ()
