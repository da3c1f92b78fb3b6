"""Members without partitions and partitions without members, in error-prone cases."""

from dataclasses import replace

import pytest

from rebalance_agent.assignors import STRATEGIES
from rebalance_agent.model.epoch_groups import (
    CurrentAssignment,
    EpochMember,
    GroupEpoch,
    MemberState,
    TargetEpoch,
    Topology,
)
from rebalance_agent.model.group import GroupState, GroupType
from rebalance_agent.tracking.observations import DescribedGroup, GroupDescribed
from rebalance_agent.tracking.views import MemberLoad
from support.tracker.epochs import fact
from support.tracker.tracking import T0, WHOLE, member, record, topics, watch

PASSIVE = [name for name, each in STRATEGIES.items() if each.passive_members]


def viewed(*observations):
    tracker, _ = watch(*observations)
    return tracker.view("g")


def drawn(*members, protocol="range", kind="consumer", **counts):
    return viewed(topics(0, **counts), record(10, 1, *members, protocol=protocol, kind=kind))


@pytest.mark.parametrize("protocol", ["range", "one-that-nobody-knows"])
def test_a_member_that_could_own_a_partition_and_owns_none_is_idle(protocol):
    idle = member("idle")
    assert drawn(member("a", (0,)), member("b", (1,)), idle, t=2, protocol=protocol).idle_members == 1


@pytest.mark.parametrize("protocol", ["range", "one-that-nobody-knows"])
@pytest.mark.parametrize("wanted", [(), ("not-there",)])
def test_a_member_that_can_own_no_partition_is_not_idle(protocol, wanted):
    nothing_to_do = member("c", topics=wanted)
    assert drawn(member("a", (0, 1)), nothing_to_do, t=2, protocol=protocol).idle_members == 0


@pytest.mark.parametrize("active", ["a", "b"])
@pytest.mark.parametrize("protocol", PASSIVE)
def test_the_passive_member_is_neither_idle_nor_disadvantaged(active, protocol):
    members = [member(name, (0, 1) if name == active else ()) for name in ("a", "b")]
    view = drawn(*members, t=2, protocol=protocol)
    assert (view.idle_members, view.skew_ratio, view.imbalance) == (0, 1, 0)
    assert view.topic_spread == (("t", 1),)


def test_streams_members_with_unreadable_tasks_may_have_standby_tasks():
    assert drawn(member("a", (0, 1)), member("b"), t=2, protocol="stream").idle_members is None


def test_a_streams_member_with_standby_tasks_is_not_idle():
    streams = GroupType.STREAMS
    facts = [
        *(fact(1_000, EpochMember(f"c-{name}", "/h", process="p"), name, group_type=streams) for name in "abc"),
        fact(1_000, Topology({"0": ("t",)}), group_type=streams),
        fact(1_000, GroupEpoch(2), group_type=streams),
        fact(1_000, TargetEpoch(2), group_type=streams),
        fact(1_000, CurrentAssignment(2, 0, MemberState.STABLE, {"0": (0, 1)}), "a", group_type=streams),
        fact(
            1_000,
            CurrentAssignment(2, 0, MemberState.STABLE, {}, standbys={"0": (0,)}),
            "b",
            group_type=streams,
        ),
        fact(1_000, CurrentAssignment(2, 0, MemberState.STABLE, {}), "c", group_type=streams),
    ]
    assert viewed(WHOLE, topics(0, t=2), *facts).idle_members == 1


def test_idle_members_of_other_protocols_are_unknown():
    workers = [replace(member(name), subscription=None, assignment=None) for name in ("a", "b")]
    view = drawn(*workers, t=2, protocol="default", kind="connect")
    assert (view.idle_members, view.unassigned, view.partitions, view.skew_ratio) == (None,) * 4
    assert view.topic_spread == ()


def test_only_partitions_of_subscribed_topics_can_be_unassigned():
    holds_on = member("a", {"t": (0,), "old": (1,)})
    view = drawn(holds_on, member("b", (1,)), t=2, old=3)
    assert (view.partitions, view.unassigned) == (2, 0)


def test_a_member_with_an_unreadable_subscription_subscribes_to_its_own_topics():
    unread = replace(member("a", (0,)), subscription=None)
    view = drawn(unread, t=2)
    assert (view.partitions, view.unassigned, view.idle_members) == (2, 1, 0)


def test_a_partition_with_two_owners_does_not_hide_an_unassigned_one():
    view = drawn(member("a", (0,)), member("b", (0,)), t=2)
    assert (view.partitions, view.unassigned) == (2, 1)


@pytest.mark.parametrize(
    ("state", "assignor", "idle"),
    [
        (GroupState.STABLE, "range", 1),
        (GroupState.STABLE, "one-that-nobody-knows", 1),
        *((GroupState.STABLE, name, None) for name in PASSIVE),
        (GroupState.STABLE, "stream", None),
        (GroupState.PREPARING_REBALANCE, "range", None),
    ],
)
def test_a_poll_shows_idle_members_if_it_has_the_data(state, assignor, idle):
    members = tuple(MemberLoad(name, None, "c", "/h", given) for name, given in (("a", {"t": (0,)}), ("b", {})))
    described = DescribedGroup("g", state, GroupType.CLASSIC, assignor, members)
    assert viewed(GroupDescribed(T0, described)).idle_members == idle
