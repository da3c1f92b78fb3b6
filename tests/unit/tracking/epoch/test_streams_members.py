"""Tasks of each kind, endpoint and process of a streams group's members (KIP-1071), in views and events."""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.model.epoch_groups import (
    CurrentAssignment,
    DescribedEpochs,
    DescribedMember,
    EpochMember,
    GroupEpoch,
    MemberState,
    StreamsTopology,
    Subtopology,
    TargetEpoch,
    Topology,
)
from rebalance_agent.model.event_json import event_from_json, event_to_json
from rebalance_agent.model.group import GroupSnapshot, GroupState, GroupType, Member, StreamsMember, TaskKind
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from rebalance_agent.tracking.groups import GroupStates
from rebalance_agent.tracking.memory.state_budget import ACTIVE_TASK_BYTES, NAME_BYTES, TASK_BYTES, state_bytes
from rebalance_agent.tracking.observations import DescribedGroup, GroupDescribed, Tick, TopologiesSeen
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.epochs import fact, group_of_two
from support.tracker.tracking import T0, WHOLE, feed, topics

NONE = dict.fromkeys(TaskKind, 0)


def streams(at, value, subject=""):
    return fact(at, value, subject, group_type=GroupType.STREAMS)


def joined(at, name, endpoint=None):
    member = EpochMember(f"client-{name}", "/10.0.0.1", process=f"process-{name}", endpoint=endpoint)
    return streams(at, member, name)


def holds(at, name, epoch, active, standby=(), warmup=(), *, state=MemberState.STABLE, revoking=()):
    tasks = [{"0": tuple(numbers)} if numbers else {} for numbers in (active, revoking, standby, warmup)]
    return streams(at, CurrentAssignment(epoch, epoch - 1, state, *tasks), name)


def tracked(*observations):
    tracker = Tracker("cluster", settle_ms=1_000)
    feed(tracker, WHOLE, topics(0, orders=4), streams(1_000, Topology({"0": ("orders",)}, 1)), *observations)
    return tracker


BOTH = (
    joined(1_000, "a", "a.example:7001"),
    joined(1_000, "b"),
    streams(1_000, GroupEpoch(2, 1)),
    streams(1_000, TargetEpoch(2)),
    holds(1_000, "a", 2, (0, 1), (2,)),
    holds(1_000, "b", 2, (2, 3), (), (0,)),
)


def test_each_member_has_its_tasks_endpoint_and_process():
    view = tracked(*BOTH).view("g")
    assert [member.streams for member in view.members] == [
        StreamsMember("process-a", "a.example:7001", {"0": (0, 1)}, {"0": (2,)}),
        StreamsMember("process-b", None, {"0": (2, 3)}, warmup={"0": (0,)}),
    ]
    assert view.streams_tasks == {TaskKind.ACTIVE: 4, TaskKind.STANDBY: 1, TaskKind.WARMUP: 1}


def test_the_event_contains_each_members_tasks_after_its_json_too():
    tracker = tracked(*BOTH)
    (event,) = feed(tracker, Tick(T0 + 2_500))
    assert [member.streams for member in event.members] == [
        StreamsMember("process-a", "a.example:7001", {"0": (0, 1)}, {"0": (2,)}),
        StreamsMember("process-b", None, {"0": (2, 3)}, warmup={"0": (0,)}),
    ]
    assert event_from_json(event_to_json(event)) == event


def test_a_task_that_is_to_be_given_up_is_still_active():
    tracker = tracked(*BOTH, streams(2_000, GroupEpoch(3, 1)), streams(2_000, TargetEpoch(3)))
    feed(tracker, holds(2_100, "a", 2, (0,), (2,), state=MemberState.UNREVOKED, revoking=(1,)))
    assert tracker.view("g").members[0].streams.active == {"0": (0, 1)}


def test_a_record_that_changes_only_a_copy_changes_the_view():
    tracker = tracked(*BOTH)
    before = tracker.view("g")
    feed(tracker, holds(2_000, "b", 2, (2, 3), (0,)))
    after = tracker.view("g")
    assert after.version > before.version
    assert after.members[1].streams.standby == {"0": (0,)}
    assert after.streams_tasks == {TaskKind.ACTIVE: 4, TaskKind.STANDBY: 2, TaskKind.WARMUP: 0}


def test_a_new_endpoint_changes_the_view():
    tracker = tracked(*BOTH)
    assert tracker.view("g").members[1].streams.endpoint is None
    feed(tracker, joined(2_000, "b", "b.example:7001"))
    assert tracker.view("g").members[1].streams.endpoint == "b.example:7001"


def test_a_static_member_that_is_away_has_no_tasks_and_an_empty_group_none_at_all():
    tracker = tracked(*BOTH, holds(2_000, "b", -2, (2, 3), (), (0,)))
    assert tracker.view("g").members[1].streams == StreamsMember("process-b")
    assert tracker.view("g").streams_tasks == {TaskKind.ACTIVE: 2, TaskKind.STANDBY: 1, TaskKind.WARMUP: 0}
    left = [
        fact(3_000, None, name, kind, group_type=GroupType.STREAMS)
        for name in "ab"
        for kind in (CurrentAssignment, EpochMember)
    ]
    feed(tracker, *left, streams(3_000, GroupEpoch(3, 1)))
    assert tracker.view("g").streams_tasks == NONE


def test_other_groups_have_no_tasks():
    kind = GroupType.CONSUMER
    tracker = Tracker("cluster", settle_ms=1_000)
    feed(tracker, WHOLE, topics(0, t=1), fact(1_000, EpochMember("c", "/h", topics=("t",)), "a", group_type=kind))
    feed(tracker, fact(1_000, GroupEpoch(1), group_type=kind), fact(1_000, TargetEpoch(1), group_type=kind))
    view = tracker.view("g")
    assert (view.streams_tasks, [member.streams for member in view.members]) == (None, [None])


def described(streams_member):
    subscription = ConsumerSubscription(-1, ("orders",))
    assignment = ConsumerAssignment(-1, {"orders": (0,)} if streams_member.active else {})
    return Member("m", None, "c", "/h", -1, 45_000, subscription, assignment, streams=streams_member)


def test_a_described_member_with_only_a_standby_task_is_not_idle():
    active = described(StreamsMember("p", active={"0": (0,)}))
    standby = replace(described(StreamsMember("q", standby={"0": (0,)})), member_id="n")
    idle = replace(described(StreamsMember("r")), member_id="o")
    members = (active, standby, idle)
    epochs = DescribedEpochs(3, 3, tuple(DescribedMember(member, 3, {}) for member in members))
    value = DescribedGroup("g", GroupState.STABLE, GroupType.STREAMS, None, (), epochs)
    tracker = Tracker("cluster", settle_ms=1_000)
    feed(tracker, topics(0, orders=1), GroupDescribed(T0 + 1_000, value, T0 + 1_010))
    view = tracker.view("g")
    assert view.idle_members == 1
    assert view.streams_tasks == {TaskKind.ACTIVE: 1, TaskKind.STANDBY: 1, TaskKind.WARMUP: 0}


def test_copies_and_names_count_towards_the_memory_of_a_group():
    one = described(StreamsMember("process", "a.example:7001", {"0": (0,)}, {"0": (1, 2)}, {"10": (3,)}))
    value = GroupSnapshot("g", "consumer", 3, None, None, 0, (one,))
    without = replace(value, members=(replace(one, streams=None),))
    names = len("process") + len("a.example:7001") + len("0") + len("0") + len("10")
    assert state_bytes(value) - state_bytes(without) == ACTIVE_TASK_BYTES + 3 * TASK_BYTES + names


TOPOLOGY = StreamsTopology(1, (Subtopology("0", ("orders",), (), (), ("g-store-changelog",)),), ("rates",))


def test_the_topology_is_in_the_view_and_counts_towards_the_memory():
    tracker = tracked(*BOTH)
    before, _ = tracker.view("g"), tracker.changed()
    feed(tracker, TopologiesSeen(T0 + 9_000, {"g": TOPOLOGY, "other": TOPOLOGY}))
    assert (before.topology, tracker.view("g").topology, tracker.changed()) == (None, TOPOLOGY, {"g"})
    assert tracker.view("g").version > before.version
    size = tracker.state_budget.size_bytes
    feed(tracker, TopologiesSeen(T0 + 9_000, {"g": None}))
    assert tracker.view("g").topology is None
    names = ("0", "orders", "g-store-changelog", "rates")
    assert size - tracker.state_budget.size_bytes == sum(map(len, names)) + NAME_BYTES * len(names)


def test_a_topology_that_has_not_changed_costs_no_work(monkeypatch):
    """A poll puts all topologies every 15 seconds, and records wait while they are processed."""
    tracker, refreshed = tracked(*BOTH, TopologiesSeen(T0 + 9_000, {"g": TOPOLOGY})), []
    monkeypatch.setattr(GroupStates, "refresh", lambda _self, state: refreshed.append(state.group))
    for topology in (TOPOLOGY, replace(TOPOLOGY)):
        feed(tracker, TopologiesSeen(T0 + 9_000, {"g": topology}))
    assert refreshed == []


def test_a_group_of_another_type_has_no_topology():
    tracker = Tracker("cluster", settle_ms=1_000)
    feed(tracker, *group_of_two(), TopologiesSeen(T0 + 2_000, {"g": TOPOLOGY}))
    assert tracker.view("g").topology is None
