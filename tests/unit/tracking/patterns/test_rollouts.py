from __future__ import annotations

import pytest

from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.tracking.patterns import current_rollout, unpaired_members
from rebalance_agent.tracking.patterns.replacements import stem
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.deploys import Group
from support.tracker.tracking import T0, feed, tick, tombstone

MINUTE = 60
FIVE = ("a", "b", "c", "d", "e")
TEMPLATES = ("7c9d8f6b5d", "5b8f44d6c9")


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


def test_a_rollout_is_reported_while_it_runs_and_once_after_its_end():
    group = Group(*FIVE)
    for name in FIVE:
        group.restart(name, 60)
    over(group)
    reported = [event for event in group.events if isinstance(event, RolloutEvent)]
    assert [(event.closed, event.revision, event.members_replaced) for event in reported] == [
        (False, 0, 4),
        (True, 1, 5),
    ]
    assert len({event.event_id for event in reported}) == 1


def test_members_that_fail_and_return_are_no_rollout():
    group = Group(*FIVE)
    for name in FIVE:
        group.blip(name, 60)
    assert over(group) == []


OLD, NEW = ([f"orders-{template}-{end}" for end in ("x2q4z", "k7bcd", "zz5tv")] for template in TEMPLATES)


@pytest.mark.parametrize("surge", [True, False])
def test_a_deployment_is_recognised_by_its_pod_templates(surge):
    group = Group(*OLD, client="{name}-1")
    group.wait(5 * MINUTE)
    for old, new in zip(OLD, NEW, strict=True):
        group.step(30, come=[new] if surge else (), gone=() if surge else [old])
        group.step(30, come=() if surge else [new], gone=[old] if surge else ())
    (rollout,) = over(group)
    assert (rollout.members, rollout.members_replaced, rollout.rebalances) == (3, 3, 6)


def test_killed_and_replaced_pods_of_one_template_are_no_rollout():
    again = [name[:-1] + "w" for name in OLD]
    group = Group(*OLD, client="{name}")
    for old, new in zip(OLD, again, strict=True):
        group.step(30, gone=[old])
        group.step(10, come=[new])
    assert over(group) == []


def test_a_deployment_that_is_recreated_at_once_is_a_rollout():
    group = Group(*OLD, client="{name}")
    group.step(60, gone=OLD)
    group.step(30, come=NEW)
    (rollout,) = over(group)
    assert (rollout.members_replaced, rollout.rebalances) == (3, 2)


@pytest.mark.parametrize("client", ["app-{name}", "consumer-orders-1"])
def test_kills_followed_by_unrelated_joins_are_no_rollout(client):
    group = Group("1", "2", "3", client=client)
    for number in range(10):
        group.step(40, gone=[str(number + 1)])
        group.step(20, come=[str(number + 4)])
    assert over(group) == []


def test_a_statefulset_of_static_members_restarts_from_the_last_to_the_first():
    names = [f"orders-{number}" for number in range(12)]
    group = Group(*names, static=True, client="consumer")
    for name in reversed(names):
        group.step(40, gone=[name], come=[name])  # returned within its session: one record, no rebalance
    (rollout,) = over(group)
    assert (rollout.members, rollout.members_replaced) == (12, 12)


def test_processes_with_one_client_id_on_different_hosts_are_recognised_by_the_host():
    names = ["a" * length for length in (1, 2, 3)]  # the host follows from the length
    group = Group(*names, client="worker")
    for name in names:
        group.restart(name, 30)
    (rollout,) = over(group)
    assert rollout.members_replaced == 3


def test_restarts_of_some_members_in_any_order_are_no_rollout():
    group = Group(*FIVE)
    for name in ("c", "a", "d", "b"):
        group.restart(name, 60)
    assert over(group) == []


def test_restarts_of_all_members_in_any_order_are_a_rollout():
    group = Group(*FIVE)
    for name in ("c", "a", "d", "b", "e"):
        group.restart(name, 60)
    (rollout,) = over(group)
    assert rollout.members_replaced == 5


@pytest.mark.parametrize("else_", ["join", "departure", "pause"])
def test_restarts_with_other_changes_in_between_are_no_rollout(else_):
    group = Group(*FIVE)
    for name in FIVE[:3]:
        group.restart(name, 60)
    if else_ == "join":
        group.step(30, come=["x"])
    elif else_ == "departure":
        group.step(30, gone=["a"])
    else:
        group.wait(6 * MINUTE)
    for name in FIVE[3:]:
        group.restart(name, 60)
    assert over(group) == []


def test_a_restart_of_all_members_at_once_with_the_same_names_is_no_rollout():
    group = Group(*FIVE)
    group.step(60, gone=FIVE)
    group.step(30, come=FIVE)
    assert over(group) == []


def test_a_crash_is_no_rollout():
    group = Group(*FIVE)
    group.restart("c", 60)
    assert over(group) == []


def test_a_crash_loop_is_no_rollout():
    group = Group(*FIVE)
    for _ in range(10):
        group.restart("c", 40)
    assert over(group) == []


def test_scaling_up_or_down_is_no_rollout():
    group = Group("a", "b")
    for name in ("c", "d", "e"):
        group.step(30, come=[name])
    group.wait(20 * MINUTE)
    for name in ("c", "d", "e"):
        group.step(30, gone=[name])
    assert over(group) == []


def test_a_member_that_joins_and_leaves_is_no_replacement():
    group = Group(*FIVE)
    group.wait(6 * MINUTE)
    for name in ("x", "y"):
        group.step(30, come=[name])
        group.step(30, gone=[name])
    assert over(group) == []


def test_two_deploys_an_hour_apart_are_two_rollouts():
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


def test_five_replacements_with_another_image_are_a_rollout_of_a_large_group():
    names = [f"m{number}" for number in range(100)]
    group = Group(*names)
    for name in names:
        group.runs(name, "orders:1")
    for name in names[:5]:
        assert group.rollouts == []
        group.restart(name, 60)
        group.runs(name, "orders:2")
        group.wait(10)
    assert len(group.rollouts) == 1


def test_another_image_makes_the_first_replacement_a_rollout():
    group = Group("a")
    group.runs("a", "orders:1")
    group.restart("a", 60)
    group.runs("a", "orders:2")
    group.wait(20)
    (rollout,) = group.rollouts
    assert (rollout.from_images, rollout.to_images, rollout.workload) == (("orders:1",), ("orders:2",), "orders")


def test_a_rejoining_process_was_not_replaced():
    group = Group(*FIVE)
    for name in FIVE:
        group.runs(name, "orders:1", process=f"process-{name}")
    group.step(60, gone=FIVE)
    group.step(3, come=FIVE)
    for name in FIVE:
        group.runs(name, "orders:1", process=f"process-{name}")
    assert over(group) == []


def test_a_member_is_not_replaced_by_a_member_of_another_workload():
    group = Group("a", "b", "c", "d", client="worker")
    for name in "abcd":
        group.runs(name, "one:1", workload="one" if name in "ab" else "two")
    group.step(60, gone=["a", "b"], come=["x", "y"])
    for name in "xy":
        group.runs(name, "two:1", workload="two")
    assert over(group) == []


def test_an_endless_restart_is_split_into_rollouts(monkeypatch):
    monkeypatch.setattr(current_rollout, "LENGTH_MAX_MS", 20 * MINUTE * 1_000)
    group = Group(*(f"m{number}" for number in range(30)))
    for number in range(30):
        group.runs(f"m{number}", "orders:1")
    for number in range(30):
        group.restart(f"m{number}", 60)
        group.runs(f"m{number}", "orders:2")
    group.wait(10 * MINUTE)
    assert len(group.rollouts) == 2
    assert all(each.closed for each in group.rollouts)


def test_a_group_that_is_deleted_ends_its_rollout():
    group = Group(*FIVE)
    for name in FIVE[:4]:
        group.restart(name, 60)
    group.wait(6)
    events = feed(group.tracker, tombstone((group.at + 1) * 1_000), tick((group.at + 5) * 1_000))
    assert [each.closed for each in events if isinstance(each, RolloutEvent)] == [True]


def test_a_replay_gives_the_same_rollouts():
    group = Group(*FIVE)
    for name in FIVE:
        group.restart(name, 60)
    over(group)
    again = Tracker("cluster", settle_ms=5_000)
    assert [event for observation in group.reported for event in again.observe(observation)] == group.events


def test_pending_replacements_are_bounded(monkeypatch):
    monkeypatch.setattr(unpaired_members, "UNPAIRED_MAX", 3)
    group = Group("a", client="orders")
    group.step(6 * MINUTE, come=[f"x{number}" for number in range(10)])
    group.wait(6)
    assert len(group.tracker._groups.get("g")._episodes.rollouts._replacements._joined) == 3


@pytest.mark.parametrize(
    ("client_id", "expected"),
    [("orders-7c9d8f-x2x1z", "orders"), ("consumer-billing-1", "consumer-billing"), ("rdkafka", "rdkafka"), ("7", "")],
)
def test_client_ids_of_one_workload_have_a_common_prefix(client_id, expected):
    assert stem(client_id) == expected


def deployed(group, members=FIVE):
    """The first four of five are deployed: a running rollout."""
    for name in members[:4]:
        group.restart(name, 60)
    group.wait(10)
    assert group.view.rollout_in_progress
    return group


def test_a_rollout_ends_after_five_minutes_without_a_replacement_and_is_shown_for_fifteen():
    group = deployed(Group(*FIVE))
    group.wait(6 * MINUTE)
    assert (group.view.rollout_in_progress, group.view.rollout.closed) == (True, True)
    group.wait(8 * MINUTE)
    assert group.view.rollout_in_progress
    group.wait(1 * MINUTE)
    assert not group.view.rollout_in_progress


def test_a_successor_that_fails_after_the_rollout_removes_it_from_the_view():
    group = deployed(Group(*FIVE))
    group.wait(6 * MINUTE)
    group.step(10, gone=["b"])
    group.wait(10)
    assert not group.view.rollout_in_progress


def test_a_deleted_group_has_no_recent_rollout():
    group = deployed(Group(*FIVE))
    feed(group.tracker, tombstone((group.at + 1) * 1_000), tick((group.at + 5) * 1_000))
    group.step(10)
    assert not group.view.rollout_in_progress


def test_a_crash_loop_of_the_new_version_counts_once():
    group = Group(*FIVE)
    for name in FIVE:
        group.runs(name, "orders:1")
    for name in ("a", "b", "c", "c", "c", "c"):
        group.restart(name, 60)
        group.runs(name, "orders:2")
    group.wait(10)
    assert (group.rollouts[-1].members_replaced, group.view.rollout_in_progress) == (3, False)


def test_a_rollout_is_not_complete_while_a_successor_fails():
    group = deployed(Group(*FIVE))
    group.step(10, gone=["b"])
    group.wait(10)
    assert (group.view.rollout_in_progress, group.view.rollout.closed) == (False, False)


def test_a_rollout_is_not_complete_while_a_member_is_missing():
    group = deployed(Group(*FIVE))
    group.step(10, gone=["e"])
    group.wait(60)
    assert group.view.rollout_in_progress
    group.wait(70)
    assert (group.view.rollout_in_progress, group.view.rollout.closed) == (False, False)
    group.step(10, come=["e"])
    group.wait(10)
    assert (group.view.rollout_in_progress, group.view.rollout.members_replaced) == (True, 5)


def test_a_rollout_is_not_complete_after_an_aborted_generation():
    group = deployed(Group(*FIVE))
    group.abort()
    group.step(10, gone=["e"])
    assert not group.view.rollout_in_progress
    group.step(10, come=["e"])
    group.wait(10)
    assert not group.view.rollout_in_progress
    group.wait(4 * MINUTE + 50)
    assert (group.view.rollout_in_progress, group.view.rollout.closed) == (True, False)


def in_progress_in_two_deploys(surge):
    """Whether a rollout is in progress after each step of the second deploy, which follows the first one soon."""
    third = [name.replace(TEMPLATES[0], "66d5c79b8f") for name in OLD]
    group = Group(*OLD, client="{name}-1")
    group.wait(5 * MINUTE)
    seen = []
    for before, after in ((OLD, NEW), (NEW, third)):
        seen.clear()
        for old, new in zip(before, after, strict=True):
            group.step(30, come=[new] if surge else (), gone=() if surge else [old])
            group.step(30, come=() if surge else [new], gone=[old] if surge else ())
            group.wait(10)
            seen.append(group.view.rollout_in_progress)
    return seen, group


@pytest.mark.parametrize("surge", [True, False])
def test_a_second_deploy_that_replaces_the_successors_of_the_first_is_no_failure(surge):
    seen, group = in_progress_in_two_deploys(surge)
    assert seen == [True, True, True]
    group.step(10, gone=[next(iter(group.there))])
    group.wait(10)
    assert not group.view.rollout_in_progress  # that one has no successor


def test_a_second_deploy_does_not_hide_that_a_successor_of_the_first_failed():
    names = [*OLD, "orders-7c9d8f6b5d-aaaaa"]
    group = Group(*names, client="{name}-1")
    group.wait(5 * MINUTE)
    for old, new in zip(names, NEW, strict=False):
        group.step(30, come=[new])
        group.step(30, gone=[old])
    group.step(10, gone=[NEW[0], NEW[1]])
    group.step(30, come=[NEW[0].replace(TEMPLATES[1], "66d5c79b8f")])
    group.wait(10)
    assert not group.view.rollout_in_progress  # only one of the two was replaced
    group.step(30, come=[NEW[1].replace(TEMPLATES[1], "66d5c79b8f")])
    group.wait(10)
    assert group.view.rollout_in_progress


def test_a_second_deploy_does_not_hide_an_aborted_generation():
    third = [name.replace(TEMPLATES[0], "66d5c79b8f") for name in OLD]
    group = Group(*OLD, client="{name}-1")
    group.wait(5 * MINUTE)
    for old, new in zip(OLD, NEW, strict=True):
        group.step(30, come=[new])
        group.step(30, gone=[old])
    group.abort()
    group.step(10, gone=[NEW[0]])
    group.step(20, come=[third[0]])
    group.wait(10)
    assert not group.view.rollout_in_progress


def test_failures_before_the_rollout_do_not_count():
    group = Group(*FIVE)
    group.abort()
    group.step(10, come=["x"])
    group.step(10, gone=["x"])
    assert deployed(group).view.rollout_in_progress
