"""Views and events with a value in every field."""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.assignors.hosts.topic_hosts import HostSpread
from rebalance_agent.model.episode import Basis, Evidence, Phases, Source, Trigger
from rebalance_agent.model.events import AssignEvent, Callback, GenerationEvent, MemberEvent
from rebalance_agent.model.group import DeadLetterQueue, GroupState, GroupType, RebalanceProtocol, TaskKind
from rebalance_agent.model.group_event import process_event_id
from rebalance_agent.tracking.evidence.doubly_owned import FormerOwner
from rebalance_agent.tracking.evidence.known_times import Departure
from rebalance_agent.tracking.patterns.costly_members import AwaitedMember, DepartedMember
from rebalance_agent.tracking.patterns.group_stalls import Limit, StalledTime
from rebalance_agent.tracking.views import (
    STALL_BUCKETS,
    Counters,
    Exemplar,
    GroupView,
    MemberLoad,
    RunningRebalance,
    StallHistogram,
)

NOW = 1_700_000_000_000

EMPTY_COUNTS = (0,) * (len(STALL_BUCKETS) + 1)


def full_view(group="orders", group_type=GroupType.CLASSIC, **changes):
    """A group of two members with a value in every field: two rebalances have completed, and a third one runs."""
    episode = GenerationEvent(
        event_id="0" * 32,
        cluster_id="cluster",
        group=group,
        timestamp_ms=NOW - 60_000,
        source=Source.RECORDS,
        group_type=group_type,
        generation=2,
        previous_generation=1,
        episode_generation=2,
        closes_episode=True,
        followups=0,
        assignor="range",
        protocol=RebalanceProtocol.EAGER,
        phases=Phases(NOW - 60_000, Evidence.RECORD, NOW - 64_500, Evidence.LIST, NOW - 60_250, Evidence.RECORD),
        trigger=Trigger.MEMBER_JOINED,
        causes=(Trigger.MEMBER_JOINED,),
        stall=None,
        members=(),
        topics={"payments": 6},
        moved=3,
        needed=3,
        revoked=3,
        assigned=6,
        lost=0,
        lost_min=0,
        unassigned=0,
        noop=False,
    )
    view = GroupView(
        group=group,
        group_type=group_type,
        source=Source.RECORDS,
        state=GroupState.STABLE,
        version=7,
        first_seen_ms=NOW - 600_000,
        generation=2,
        assignor="range",
        protocol=RebalanceProtocol.EAGER,
        members=(
            MemberLoad("m1", None, "consumer-1", "/10.0.0.1", {"payments": (0, 1, 2, 3)}, 3.0),
            MemberLoad("m2", "static-2", "consumer-2", "/10.0.0.2", {"payments": (4, 5)}, 3.0),
        ),
        static_members=1,
        streams_tasks={TaskKind.ACTIVE: 6, TaskKind.STANDBY: 4, TaskKind.WARMUP: 1},
        idle_members=0,
        consumes=True,
        partitions=6,
        unassigned=0,
        skew_ratio=4 / 3,
        lag_skew_ratio=1.75,
        rate_skew_ratio=1.0,
        copartition_breaks=2,
        dead_letter_queue=DeadLetterQueue("dlq.orders", True) if group_type is GroupType.SHARE else None,
        imbalance=1,
        topic_spread=(("payments", 0.5), ("refunds", 1.0)),
        host_spread=HostSpread(topics=80, on_one_host=20, hosts=4, ratio=0.5, chance=1e-40),
        rebalance_timeout_seconds=300.0,
        metadata_bytes=812,
        running=RunningRebalance(NOW - 1_500, 6),
        last_episode=episode,
        last_join_seconds=4.25,
        last_sync_seconds=0.25,
        awaited=(
            AwaitedMember("consumer-1", "10.0.0.1", 4.2, episode.timestamp_ms),
            AwaitedMember("consumer-0", "10.0.0.9", 10.5, episode.timestamp_ms - 60_000),
        ),
        departed=(DepartedMember("consumer-2", "10.0.0.2", Departure.FAILED, 2, episode.timestamp_ms - 60_000),),
        recent_ms=(episode.timestamp_ms, episode.timestamp_ms - 60_000),
        former_owner=FormerOwner("m0", "consumer-0", "10.0.0.9", 2, 14.5, NOW - 3_600_000),
        counters=Counters(
            completed={Trigger.GROUP_STARTED: 1, Trigger.MEMBER_JOINED: 1},
            aborted=1,
            revoked=3,
            assigned=12,
            moved=3,
            stalls={
                Basis.BOUND: StallHistogram(
                    (0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0),
                    4.5,
                    {5: Exemplar(episode.event_id, 4.5, episode.timestamp_ms, ("cluster", group, episode.generation))},
                )
            },
            stalled_partition_seconds=27.0,
            partition_seconds=3600.0,
        ),
        stalled_time=StalledTime(seconds={Limit.WARNING: 140.0, Limit.CRITICAL: 100.0}, since_ms=NOW - 41_000),
        counted_until_ms=NOW - 1_000,
    )
    return replace(view, **changes)


def member_event(callback=Callback.ASSIGNED, sequence=1, **changes):
    """A callback of one consumer that took a quarter of a second."""
    fields = {
        "event_id": "1" * 32,
        "group": "orders",
        "timestamp_ms": NOW,
        "callback": callback,
        "client_id": "consumer-1",
        "member_id": "m1",
        "generation": 2,
        "started_ms": NOW - 250,
        "partitions": {"payments": (0, 1, 2)},
        "process": "p1",
        "sequence": sequence,
    }
    return MemberEvent(**{**fields, **changes})


def with_own_id(event):
    """The event with the id that its process gives it: an endpoint hashes any other one."""
    return replace(event, event_id=process_event_id(event.KIND, event.process, event.sequence))


def assign_event(sequence=1, **changes):
    """An assign() call of one consumer that took 20 ms."""
    fields = {
        "event_id": "2" * 32,
        "group": "orders",
        "timestamp_ms": NOW,
        "assignor": "weighted-sticky",
        "client_id": "consumer-1",
        "generation": 2,
        "duration_seconds": 0.02,
        "members": 2,
        "partitions": 6,
        "process": "p1",
        "sequence": sequence,
    }
    return AssignEvent(**{**fields, **changes})
