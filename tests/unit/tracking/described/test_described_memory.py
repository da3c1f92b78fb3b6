"""Groups that only descriptions show take memory within the budget of all groups' states."""

from __future__ import annotations

import gc

import pytest

from rebalance_agent.model.epoch_groups import DescribedEpochs, DescribedMember
from rebalance_agent.model.group import GroupState, GroupType, Member
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from rebalance_agent.tracking.memory.state_budget import NEW_GROUPS_UP_TO
from rebalance_agent.tracking.observations import DescribedGroup, GroupDescribed, TopicsSeen
from rebalance_agent.tracking.tracker import Tracker
from rebalance_agent.tracking.views import MemberLoad
from support.memory import traced_memory
from support.tracker.tracking import feed, member, record

EPOCHS = pytest.mark.parametrize("epochs", [True, False], ids=["with epochs", "without"])


def _described(group, members, at_ms, *, epochs, epoch=1):
    """A description whose strings are like those of no other; each member has ten partitions of its own topic."""
    names = [f"{group}-{at_ms}-{number}" for number in range(members)]
    shares = {name: {f"topic-{name}": tuple(range(10))} for name in names}
    loads = tuple(MemberLoad(name, None, f"client-{name}", f"/host-{name}", shares[name]) for name in names)
    value = None
    if epochs:
        whole = [_member(name, shares[name]) for name in names]
        value = DescribedEpochs(epoch, epoch, tuple(DescribedMember(each, epoch, each.assigned) for each in whole))
    kind = GroupType.CONSUMER if epochs else GroupType.CLASSIC
    described = DescribedGroup(group, GroupState.STABLE if members else GroupState.EMPTY, kind, "range", loads, value)
    return GroupDescribed(at_ms, described, at_ms)


def _member(name, assigned):
    subscription = ConsumerSubscription(-1, (f"topic-{name}",))
    assignment = ConsumerAssignment(-1, assigned)
    return Member(name, None, f"client-{name}", f"/host-{name}", -1, 45_000, subscription, assignment, True)


def _full(epochs):
    """A tracker with a group of two members, which takes more than 125 % of the budget."""
    sizes = Tracker("c")
    sizes.observe(_described("known", 2, 1_000, epochs=epochs))
    bytes_max = int(sizes.state_budget.size_bytes / NEW_GROUPS_UP_TO)
    tracker = Tracker("c", state_bytes_max=bytes_max)
    tracker.observe(_described("known", 2, 1_000, epochs=epochs))
    return tracker


@EPOCHS
def test_without_room_a_new_group_is_not_shown_and_counted(epochs):
    tracker = _full(epochs)
    tracker.observe(_described("new", 1, 2_000, epochs=epochs))
    assert tracker.groups() == ["known"]
    assert (tracker.state_budget.refused, tracker.state_budget.named(2_000)) == (1, ["new"])


@EPOCHS
def test_without_room_a_group_that_does_not_grow_stays_shown(epochs):
    tracker = _full(epochs)
    for at_ms, members in ((2_000, 2), (3_000, 1), (4_000, 0)):
        tracker.observe(_described("known", members, at_ms, epochs=epochs, epoch=at_ms))
        assert len(tracker.view("known").members) == members
    assert tracker.state_budget.refused == 0


@EPOCHS
def test_without_room_a_group_that_grows_is_not_shown_until_there_is_room(epochs):
    tracker = _full(epochs)
    tracker.observe(_described("known", 3, 2_000, epochs=epochs, epoch=2))
    assert tracker.view("known") is None
    assert (tracker.state_budget.refused, tracker.state_budget.size_bytes) == (1, 0)
    tracker.observe(_described("known", 2, 3_000, epochs=epochs, epoch=3))
    assert len(tracker.view("known").members) == 2


@EPOCHS
def test_a_large_described_group_gives_room_to_a_group_with_records(epochs):
    tracker = Tracker("c", state_bytes_max=100_000)
    tracker.observe(_described("large", 120, 1_000, epochs=epochs))
    feed(tracker, record(2_000, 1, member("a", (0, 1)), group="new"), commits=False)
    assert (tracker.view("large"), tracker.view("new").generation) == (None, 1)
    assert tracker.state_budget.refused == 1


@EPOCHS
def test_a_group_that_is_gone_leaves_its_bytes_to_others(epochs):
    tracker = _full(epochs)
    kind = GroupType.CONSUMER if epochs else GroupType.CLASSIC
    gone = DescribedGroup("known", GroupState.DEAD, kind, None, ())
    tracker.observe(GroupDescribed(2_000, gone, 2_000))
    assert tracker.state_budget.size_bytes == 0
    tracker.observe(_described("new", 2, 3_000, epochs=epochs))
    assert tracker.groups() == ["new"]


@EPOCHS
def test_a_described_group_counts_for_what_it_takes(epochs):
    tracker = Tracker("warm")
    tracker.observe(_described("warm", 20, 1_000, epochs=epochs))
    tracker = Tracker("c")
    tracker.observe(TopicsSeen(0, {"t": 10}))
    gc.collect()
    with traced_memory() as used:
        for number in range(10):
            tracker.observe(_described(f"g{number}", 20, 1_000 + number, epochs=epochs))
            assert tracker.view(f"g{number}") is not None
        gc.collect()
        taken, _ = used()
    assert taken <= tracker.state_budget.size_bytes <= 10 * taken
