from __future__ import annotations

from dataclasses import replace

from rebalance_agent.model.events import AssignEvent, GenerationEvent
from rebalance_agent.model.reported.workload import Workload
from rebalance_agent.tracking.observations import MemberReported
from support.tracker.deploys import Group
from support.tracker.tracking import T0, assigned, feed

POD = Workload("pod-a", "node", "orders", "orders:7")


def places(members):
    return {each.client_id: each.where for each in members}


def last_generation(group):
    return [event for event in group.events if isinstance(event, GenerationEvent)][-1]


def test_members_have_the_place_that_they_reported():
    group = Group("a", "b")
    group.runs("a", "orders:7")
    assert places(group.view.members) == {"orders-a": POD, "orders-b": None}
    group.wait(16)  # the event also waits for first commits
    assert places(last_generation(group).members) == {"orders-a": POD, "orders-b": None}


def test_a_place_reported_late_is_better_evidence():
    group = Group("a")
    group.wait(16)  # the event also waits for its first commit
    assert last_generation(group).revision == 0
    version = group.view.version
    group.runs("a", "orders:7")
    assert group.view.version > version
    group.wait(6)
    assert last_generation(group).revision == 1
    assert places(last_generation(group).members) == {"orders-a": POD}


def test_a_successor_does_not_inherit_the_place():
    group = Group("a", "b", static=True)
    group.runs("a", "orders:7")
    group.step(30, gone=["a"], come=["a"])
    group.wait(6)
    assert places(group.view.members) == {"orders-a": None, "orders-b": None}
    group.runs("a", "orders:8")
    assert places(group.view.members)["orders-a"].image == "orders:8"


def test_a_place_is_kept_as_long_as_the_member():
    group = Group("a")
    group.runs("a", "orders:7")
    group.wait(3 * 3600)
    assert places(group.view.members) == {"orders-a": POD}


def test_an_event_from_before_the_observer_determines_only_the_place():
    group = Group("a", "b")
    reported = assigned(group.there["a"], 100, 100, 1, [0])
    failed = AssignEvent("e" * 32, "g", T0 + 100, "range", "orders-a", 1, 0.1, 2, 4, "p", 1, error="boom")
    past = MemberReported(T0 + 1_000, replace(reported.event, where=POD), past=True)
    feed(group.tracker, past, MemberReported(T0 + 1_000, failed, past=True))
    assert places(group.view.members)["orders-a"] == POD
    assert group.view.counters.assign_errors is None
