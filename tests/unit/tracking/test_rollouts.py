from __future__ import annotations

import pytest

from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.tracking.patterns import replacements, rollouts
from rebalance_agent.tracking.patterns.replacements import stem
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.deploys import Group
from support.tracker.tracking import T0, tell, tick, tombstone

MINUTE = 60
FIVE = ("a", "b", "c", "d", "e")


def over(group):
    group.wait(10 * MINUTE)
    return group.rollouts


@pytest.mark.parametrize("static", [True, False])
def test_a_rolling_restart_of_five_is_one_rollout_with_all_its_costs(static):
    group = Group(*FIVE, static=static)
    for name in FIVE:
        group.restart(name, 60)
    assert group.view.rollout.closed is False
    (rollout,) = over(group)
    assert group.view.rollout == rollout
    assert (rollout.closed, rollout.revision) == (True, 1)
    assert (rollout.members, rollout.members_replaced, rollout.rebalances) == (5, 5, 10)
    assert (rollout.first_generation, rollout.last_generation) == (2, 11)
    assert rollout.timestamp_ms == T0 + 5 * 80 * 1_000 + 500
    closing = [each for each in group.events if isinstance(each, GenerationEvent) and each.generation > 1]
    assert rollout.stalled_partition_seconds == pytest.approx(sum(each.stall.partition_seconds for each in closing))
    assert rollout.stall_seconds == max(each.stall.lower_seconds for each in closing)


def test_it_is_told_while_it_runs_and_once_more_when_it_is_over():
    group = Group(*FIVE)
    for name in FIVE:
        group.restart(name, 60)
    over(group)
    told = [event for event in group.events if isinstance(event, RolloutEvent)]
    assert [(event.closed, event.revision, event.members_replaced) for event in told] == [(False, 0, 2), (True, 1, 5)]
    assert len({event.event_id for event in told}) == 1


def test_members_that_fall_out_and_come_back_themselves_are_no_rollout():
    group = Group(*FIVE)
    for name in FIVE:
        group.blip(name, 60)
    assert over(group) == []


def test_successors_may_come_before_who_they_replace():
    group = Group("a-1", "b-1", "c-1")
    group.wait(5 * MINUTE)
    for name in "abc":
        group.step(30, come=[f"{name}-2"])
        group.step(30, gone=[f"{name}-1"])
    (rollout,) = over(group)
    assert (rollout.members, rollout.members_replaced, rollout.rebalances) == (3, 3, 6)


def test_all_at_once_is_a_rollout():
    group = Group(*FIVE)
    group.step(60, gone=FIVE)
    group.step(30, come=FIVE)
    (rollout,) = over(group)
    assert (rollout.members_replaced, rollout.rebalances) == (5, 2)


def test_a_crash_is_none():
    group = Group(*FIVE)
    group.restart("c", 60)
    assert over(group) == []


def test_a_member_that_crashes_again_and_again_is_none():
    group = Group(*FIVE)
    for _ in range(10):
        group.restart("c", 40)
    assert over(group) == []


def test_more_members_are_none_nor_are_fewer():
    group = Group("a", "b")
    for name in ("c", "d", "e"):
        group.step(30, come=[name])
    group.wait(20 * MINUTE)
    for name in ("c", "d", "e"):
        group.step(30, gone=[name])
    assert over(group) == []


def test_who_comes_and_goes_was_not_replaced_by_itself():
    group = Group(*FIVE)
    group.wait(6 * MINUTE)
    for name in ("x", "y"):
        group.step(30, come=[name])
        group.step(30, gone=[name])
    assert over(group) == []


def test_two_deploys_an_hour_apart_are_two():
    group = Group(*FIVE)
    for _ in range(2):
        for name in FIVE:
            group.restart(name, 60)
        group.wait(60 * MINUTE)
    first, second = group.rollouts
    assert (first.members_replaced, second.members_replaced) == (5, 5)
    assert first.timestamp_ms < second.started_ms
    assert first.closed
    assert second.closed


def test_of_a_large_group_a_fifth_or_five():
    group = Group(*(f"m{number}" for number in range(10)))
    group.restart("m1", 60)
    assert group.rollouts == []
    group.restart("m2", 60)
    group.wait(10)
    assert len(group.rollouts) == 1
    large = Group(*(f"m{number}" for number in range(100)))
    for number in range(5):
        assert large.rollouts == []
        large.restart(f"m{number}", 60)
        large.wait(10)
    assert len(large.rollouts) == 1


def test_another_image_makes_the_first_replacement_a_rollout():
    group = Group("a")
    group.runs("a", "orders:1")
    group.restart("a", 60)
    group.runs("a", "orders:2")
    group.wait(20)
    (rollout,) = group.rollouts
    assert (rollout.from_images, rollout.to_images, rollout.workload) == (("orders:1",), ("orders:2",), "orders")


def test_a_process_that_joins_anew_was_not_replaced():
    group = Group(*FIVE)
    for name in FIVE:
        group.runs(name, "orders:1", process=f"process-{name}")
    group.step(60, gone=FIVE)
    group.step(3, come=FIVE)
    for name in FIVE:
        group.runs(name, "orders:1", process=f"process-{name}")
    assert over(group) == []


def test_who_leaves_one_workload_is_not_replaced_by_who_joins_another():
    group = Group("a", "b", "c", "d", client="worker")
    for name in "abcd":
        group.runs(name, "one:1", workload="one" if name in "ab" else "two")
    group.step(60, gone=["a", "b"], come=["x", "y"])
    for name in "xy":
        group.runs(name, "two:1", workload="two")
    assert over(group) == []


def test_a_group_that_is_restarted_without_end_is_cut(monkeypatch):
    monkeypatch.setattr(rollouts, "LENGTH_MAX_MS", 20 * MINUTE * 1_000)
    group = Group(*(f"m{number}" for number in range(30)))
    for number in range(30):
        group.restart(f"m{number}", 60)
    group.wait(10 * MINUTE)
    assert len(group.rollouts) == 2
    assert all(each.closed for each in group.rollouts)


def test_a_group_that_is_deleted_ends_its_rollout():
    group = Group(*FIVE)
    for name in FIVE[:3]:
        group.restart(name, 60)
    group.wait(6)
    events = tell(group.tracker, tombstone((group.at + 1) * 1_000), tick((group.at + 5) * 1_000))
    assert [each.closed for each in events if isinstance(each, RolloutEvent)] == [True]


def test_a_replay_says_the_same():
    group = Group(*FIVE)
    for name in FIVE:
        group.restart(name, 60)
    over(group)
    again = Tracker("cluster", settle_ms=5_000)
    assert [event for observation in group.told for event in again.observe(observation)] == group.events


def test_what_waits_is_bounded(monkeypatch):
    monkeypatch.setattr(replacements, "WAITING_MAX", 3)
    group = Group("a", client="orders")
    group.step(6 * MINUTE, come=[f"x{number}" for number in range(10)])
    group.wait(6)
    assert group.tracker._groups.get("g")._episodes.rollouts._replacements._joined._number == 3


@pytest.mark.parametrize(
    ("client_id", "expected"),
    [("orders-7c9d8f-x2x1z", "orders"), ("consumer-billing-1", "consumer-billing"), ("rdkafka", "rdkafka"), ("7", "")],
)
def test_client_ids_of_one_workload_begin_alike(client_id, expected):
    assert stem(client_id) == expected
