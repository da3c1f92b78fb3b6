"""Over the budget, new groups that do not commit are shown, and their rebalances are not reported."""

from __future__ import annotations

from dataclasses import replace

from rebalance_agent.model.epoch_groups import GroupEpoch
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.tracking.memory.recent_names import NAMED_MAX, NAMED_MS
from rebalance_agent.tracking.memory.state_budget import (
    AWAITED_BYTES,
    COMMITTING_MS,
    GROUP_BYTES,
    StateBudget,
    state_bytes,
)
from rebalance_agent.tracking.observations import EpochRecord
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.tracking import T0, WHOLE, committed, feed, member, record, tick, tombstone, topics

ONE = state_bytes(record(0, 1, member("a", (0, 1))).value) + len("known")
"""The bytes of a generation of two partitions."""

KNOWN = member("a", range(200))
SIZE = GROUP_BYTES + len("known") + 200 * AWAITED_BYTES + state_bytes(record(0, 1, KNOWN).value) + len("known")
"""The bytes of the group "known" after its first rebalance: of its 200 partitions, beside which others take little."""


def _records(group, generations, since=0, partitions=2, **options):
    """Records of a group whose members alternate."""
    names = {number: "ab"[number % 2] for number in generations}
    return [
        record(since + 100 * number, number, member(name, range(partitions)), group=group, **options)
        for number, name in names.items()
    ]


def _reported(events, group):
    return [event.generation for event in events if isinstance(event, GenerationEvent) and event.group == group]


def _full(bytes_max=SIZE):
    """A tracker whose budget is hardly more than the group "known" uses."""
    tracker = Tracker("c", state_bytes_max=bytes_max)
    feed(tracker, topics(0, t=200), record(0, 1, KNOWN, group="known"), commits=False)
    return tracker


def test_a_new_group_is_shown_exactly_and_its_rebalances_are_not_reported():
    tracker = _full()
    events = feed(tracker, *_records("new", [1, 2], partitions=150), tick(60_000), commits=False)
    assert _reported(events, "new") == []
    view = tracker.view("new")
    assert (view.generation, view.partitions, [load.member_id for load in view.members]) == (2, 200, ["a"])
    assert tracker.state_budget.unreported == 2
    assert tracker.state_budget.named(T0 + 60_000) == ["new"]


def test_new_groups_are_reported_while_they_take_less_than_a_quarter_of_the_budget():
    tracker = _full()
    groups = ("new", 2), ("flood", 150), ("newer", 2)
    records = [each for name, partitions in groups for each in _records(name, [1, 2], partitions=partitions)]
    events = feed(tracker, *records, tick(60_000), commits=False)
    assert [_reported(events, name) for name, _ in groups] == [[1, 2], [], [1, 2]], "the flood gives room"


def test_a_group_that_was_known_before_stays_reported():
    tracker = _full()
    events = feed(tracker, *_records("known", [2, 3], since=1_000), tick(60_000), commits=False)
    assert _reported(events, "known") == [1, 2, 3]
    assert tracker.state_budget.unreported == 0


def _committing(group, until):
    """Commits of one partition, the last one at ``until``."""
    return committed(until - COMMITTING_MS, 0, group=group), committed(until, 0, group=group)


def test_a_group_that_commits_is_reported():
    tracker = _full()
    feed(tracker, *_committing("new", 50))
    events = feed(tracker, *_records("new", [1, 2]), tick(60_000))
    assert _reported(events, "new") == [1, 2]


def test_a_group_that_commits_is_reported_however_many_partitions_another_group_commits(monkeypatch):
    monkeypatch.setattr("rebalance_agent.tracking.evidence.commits.last_commits.PARTITIONS_MAX", 300)
    tracker = _full()
    feed(tracker, *(committed(0, *numbers, group="other") for numbers in ([255], range(1_000))))
    feed(tracker, *_committing("new", COMMITTING_MS))
    events = feed(tracker, *_records("new", [1, 2], since=COMMITTING_MS), tick(2 * COMMITTING_MS), commits=False)
    assert _reported(events, "new") == [1, 2]


def test_a_group_that_begins_to_commit_is_reported_from_then_on():
    tracker = _full()
    feed(tracker, *_records("new", [1, 2], partitions=150), commits=False)
    feed(tracker, *_committing("new", 500))
    events = feed(tracker, *_records("new", [3, 4], since=1_000, partitions=150), tick(60_000), commits=False)
    assert _reported(events, "new") == [3, 4]
    assert tracker.view("new").counters.aborted == 0


def test_new_groups_that_commit_once_and_are_deleted_take_no_more_than_others():
    tracker = _full()
    for number in range(20):
        name, at = f"new-{number}", 100 * number
        feed(tracker, committed(at, *range(200), group=name), record(at, 1, KNOWN, group=name), tombstone(at + 1, name))
    assert tracker.state_budget.size_bytes <= 2 * SIZE + len("new-00")
    assert tracker.state_budget.unreported == 20
    assert tracker.state_budget.refused == 19, "each gives room to the next one"
    assert tracker.view("known") is not None


def test_beyond_a_quarter_more_than_the_budget_new_groups_are_refused():
    tracker = _full(1)
    feed(tracker, *_records("new", [1, 2]), tick(60_000), commits=False)
    assert tracker.view("new") is None
    assert tracker.state_budget.refused == 2
    assert tracker.state_budget.named(T0) == ["new"]


def _flooded(*groups):
    """A tracker with the group "known", and large groups that came later and fill the budget."""
    tracker = _full()
    feed(tracker, *[record(10 + index, 1, KNOWN, group=name) for index, name in enumerate(groups)], commits=False)
    return tracker


def test_groups_of_a_flood_give_room_to_a_group_that_comes_later_and_to_each_other():
    tracker = _flooded("flood-1", "flood-2")
    assert (tracker.view("flood-1"), tracker.state_budget.refused) == (None, 1)
    feed(tracker, *_records("new", [1], since=1_000), tick(60_000), commits=False)
    assert tracker.view("new").generation == 1
    assert (tracker.view("flood-2"), tracker.state_budget.refused) == (None, 2)
    assert tracker.view("known") is not None
    assert {"flood-1", "flood-2"} <= {*tracker.state_budget.named(T0)}


def test_large_groups_give_room_before_small_ones():
    tracker = _full()
    feed(tracker, *_records("small", [1]), *_records("small-too", [1], since=10), commits=False)
    feed(tracker, record(500, 1, KNOWN, group="flood-1"), record(510, 1, KNOWN, group="flood-2"), commits=False)
    assert tracker.view("flood-1") is None
    assert all(tracker.view(name) for name in ("known", "small", "small-too", "flood-2"))


def test_groups_that_committed_more_than_once_are_the_last_to_give_room():
    spans = {"busy": 10, "committing": COMMITTING_MS}
    budget = StateBudget(lambda name: spans.get(name, 0), 100)
    budget.set("known", 100)
    for name in ("busy", "committing", "flood"):
        assert budget.admits(name, 0, live=True, whole=True)
        budget.set(name, 8)
    budget.set("known", 200)
    assert list(budget.displaced(0)) == ["flood", "busy"]


def test_beyond_that_a_group_that_grows_is_not_shown_unless_it_commits():
    for commits in (False, True):
        tracker = Tracker("c", state_bytes_max=3 * SIZE // 2)
        feed(tracker, topics(0, t=200), *_records("small", [1]), commits=False)
        feed(tracker, *[record(0, 1, KNOWN, group=name) for name in ("known", "other")], commits=False)
        if commits:
            feed(tracker, *_committing("small", 50))
        feed(tracker, *_records("small", [2], since=1_000), commits=False)
        assert tracker.view("small").generation == 2
        feed(tracker, record(2_000, 3, KNOWN, group="small"), commits=False)
        assert (tracker.view("small") is not None) == commits
        assert tracker.state_budget.refused == (not commits)


def test_a_group_of_older_records_counts_as_known():
    tracker = _full()
    feed(tracker, *_records("old", [1], live=False), commits=False)
    events = feed(tracker, *_records("old", [2], since=1_000), tick(60_000), commits=False)
    assert _reported(events, "old") == [2]


def test_a_group_that_is_gone_leaves_its_bytes_to_others():
    tracker = _full()
    feed(tracker, tombstone(1_000, "known"), tick(60_000), commits=False)
    assert tracker.state_budget.size_bytes == 0
    events = feed(tracker, *_records("new", [1], since=61_000), tick(120_000), commits=False)
    assert _reported(events, "new") == [1]


def _epoch(at, value, group="streams"):
    return EpochRecord(group, T0 + at, T0 + at, GroupType.CONSUMER, GroupEpoch, value)


def test_a_refused_group_of_many_records_stays_refused_until_it_is_deleted():
    tracker = _full(1)
    feed(tracker, WHOLE, _epoch(100, GroupEpoch(1)), tombstone(200, "known"), tick(60_000))
    feed(tracker, _epoch(61_000, GroupEpoch(2)))
    assert tracker.view("streams") is None
    feed(tracker, _epoch(62_000, None), _epoch(63_000, GroupEpoch(1)))
    assert tracker.view("streams") is not None


def test_a_group_of_many_records_that_gave_room_stays_refused_until_it_is_deleted():
    budget = StateBudget(lambda _: 0, 100)
    budget.set("known", 100)
    assert budget.admits("streams", 0, live=True, whole=False)
    budget.set("streams", 100)
    assert list(budget.displaced(0)) == ["streams"]
    budget.drop("streams")
    assert not budget.admits("streams", 0, live=True, whole=False)
    budget.forgive("streams")
    assert budget.admits("streams", 0, live=True, whole=False)


def test_a_group_with_several_generations_takes_more_bytes():
    tracker = _full()
    before = tracker.state_budget.size_bytes
    feed(tracker, *_records("known", [2]), commits=False)
    assert tracker.state_budget.size_bytes == before + ONE


def test_the_first_groups_stay_named_as_long_as_they_go_on():
    budget = StateBudget(lambda _: 0, 0)
    for at_ms in range(0, NAMED_MS, NAMED_MS // 10):
        for number in range(2 * NAMED_MAX):
            budget.reports(f"g{number:02}", at_ms)
    assert budget.named(NAMED_MS) == [f"g{number:02}" for number in range(NAMED_MAX)]
    assert budget.named(3 * NAMED_MS) == []


def test_equal_partitions_of_thousands_of_groups_are_the_same_objects():
    tracker = Tracker("c")
    firsts = []
    for group in ("one", "other"):
        feed(tracker, *[replace(each, partition=1) for each in _records(group, [1])], tick(60_000), commits=False)
        firsts.append(tracker._groups.get(group).last.first_commits)
    assert firsts[0].awaited is firsts[1].awaited


MB = 10**6


def _budget(commits=60_000):
    return StateBudget(lambda name: commits, 10 * MB)


def _sizes(bytes_before, bytes_now):
    return (lambda: bytes_before), (lambda: bytes_now)


def test_groups_that_commit_and_grow_exceed_the_budget_by_a_fifth_at_most():
    budget = _budget()
    for number in range(100):
        budget.set(f"g{number}", 50_000)
    for number in range(100):
        name = f"g{number}"
        if not budget.refuses(name, 0, *_sizes(50_000, MB)):
            budget.set(name, MB)
    assert 11 * MB < budget.size_bytes < 12 * MB
    assert budget.refused == 93
    assert not budget.refuses("g99", 0, *_sizes(50_000, 80_000)), "it is still small"
    assert not budget.admits("g100", 0, lambda: MB, live=True, whole=True)
    assert budget.admits("g100", 0, lambda: 80_000, live=True, whole=True)


def test_a_group_that_was_as_large_within_the_budget_is_reported_beside_groups_that_grow():
    budget = _budget()
    budget.set("large", 4 * MB)
    for number in range(11):
        budget.set(f"g{number}", MB)
    assert not budget.refuses("large", 0, *_sizes(4 * MB, 5 * MB))
    assert budget.reports("large", 0)
    assert [budget.reports(f"g{number}", 0) for number in (0, 10)] == [True, False], "g0 was as large within the budget"
    budget.set("large", 9 * MB)
    assert not budget.reports("large", 0)
    assert budget.named(0) == ["g10", "large"]


def test_groups_that_commit_and_grow_give_room_to_a_new_group():
    budget = _budget()
    for name, size in (("large", 4 * MB), ("small", 50_000), ("a", 3 * MB), ("b", 5 * MB), ("c", MB)):
        budget.set(name, size)
    removed = []
    for name in budget.displaced(0):
        removed.append(name)
        budget.drop(name)
    assert removed == ["b"]


def test_known_groups_that_grow_part_by_part_are_removed_when_there_is_no_room_at_most_once_a_second():
    """Records of consumer, share and streams groups are parts of their groups, so they are not refused."""
    budget = _budget(commits=0)
    for name in ("large", "small", "a", "b"):
        budget.set(name, 4 * MB if name == "large" else 50_000)
    for name in ("a", "b"):
        budget.set(name, 5 * MB)
    removed = list(budget.outgrown(1_000))
    assert removed[0] == "b", "a was within the budget when it grew"
    assert "large" not in removed
    assert list(budget.outgrown(1_500)) == []
    assert list(budget.outgrown(2_000)) == removed
