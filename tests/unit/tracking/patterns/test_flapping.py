from __future__ import annotations

from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.tracking.patterns import flapping
from support.tracker.deploys import Group
from support.tracker.tracking import T0

MINUTE = 60


def named(group):
    return [each.name for each in group.view.flapping]


def test_a_member_that_returns_three_times_flaps_until_its_returns_are_old():
    group = Group("a", "b", "c")
    for returns in range(3):
        assert named(group) == []
        group.restart("b", 60)
        group.wait(6)
        assert len(group.view.flapping) == (returns == 2)
    (member,) = group.view.flapping
    assert (member.name, member.returns, member.since_ms) == ("orders-b", 3, T0 + 80_500)
    group.wait(14 * MINUTE)
    version = group.view.version
    assert named(group) == ["orders-b"]
    group.wait(2 * MINUTE)
    assert named(group) == []
    assert group.view.version > version


def test_the_event_names_the_flapping_member():
    group = Group("a", "b")
    for _ in range(3):
        group.restart("b", 60)
    group.wait(6)
    reported = [event.flapping for event in group.events if isinstance(event, GenerationEvent)]
    assert reported == [None] * 6 + [("orders-b",)]


def test_a_later_report_does_not_remove_the_name():
    group = Group("a", "b")
    for _ in range(3):
        group.restart("b", 60)
    group.wait(6)
    group.runs("b", "image")
    group.wait(10)
    last = [event for event in group.events if isinstance(event, GenerationEvent)][-1]
    assert last.revision == 1
    assert last.flapping == ("orders-b",)


def test_a_static_member_returns_when_it_has_a_new_id():
    group = Group("a", "b", static=True)
    for _ in range(3):
        group.step(30, gone=["a"], come=["a"])
    group.wait(6)
    assert named(group) == ["instance-a"]


def test_a_rolling_restart_is_no_flapping():
    group = Group("a", "b", "c")
    for name in "abc":
        group.restart(name, 30)
    group.wait(6)
    assert named(group) == []


def test_three_deploys_of_static_members_within_minutes_are_no_flapping():
    group = Group(*"abcd", static=True)
    for _ in range(3):
        for name in "abcd":
            group.step(40, gone=[name], come=[name])
    group.wait(6)
    assert named(group) == []


def test_a_member_with_three_returns_more_than_deploys_cause_flaps():
    group = Group(*"abcd", static=True)
    for name in "abcd":
        group.step(40, gone=[name], come=[name])
    for _ in range(3):
        assert named(group) == []
        group.step(40, gone=["b"], come=["b"])
    group.wait(6)
    assert named(group) == ["instance-b"]


def test_all_members_in_a_crash_loop_flap():
    group = Group(*"abc", static=True)
    for times in range(flapping.RETURNS_MAX):
        assert named(group) == [], times
        for name in "abc":
            group.step(30, gone=[name], come=[name])
    group.wait(6)
    assert named(group) == ["instance-a", "instance-b", "instance-c"]


def test_of_two_members_the_one_that_returns_alone_flaps():
    group = Group("a", "b", static=True)
    group.step(30, gone=["a"], come=["a"])
    group.step(30, gone=["b"], come=["b"])
    group.wait(6)
    assert named(group) == []
    for _ in range(3):
        group.step(30, gone=["a"], come=["a"])
    group.wait(6)
    assert named(group) == ["instance-a"]


def test_returns_far_apart_are_no_flapping():
    group = Group("a", "b")
    for _ in range(5):
        group.restart("b", 10 * MINUTE)
    group.wait(6)
    assert named(group) == []


def test_indistinguishable_members_are_not_checked():
    group = Group("a", "b", "c", "d", client="rdkafka")
    for _ in range(5):
        group.restart("b", 30)
        group.restart("d", 30)
    group.wait(6)
    assert named(group) == []


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(flapping, "NAMES_MAX", 4)
    group = Group("a", *(f"x{number}" for number in range(9)))
    group.step(10, gone=[f"x{number}" for number in range(9)])
    group.wait(6)
    assert len(group.tracker._groups.get("g")._episodes.flapping._histories) == 4
