"""Groups whose coordinator assigns keep a bounded number of partitions, and unchanged ones cost next to nothing."""

from __future__ import annotations

import pytest

from rebalance_agent.model import partitions as partitions_module
from rebalance_agent.model.epoch_groups import (
    CurrentAssignment,
    EpochMember,
    GroupEpoch,
    MemberState,
    TargetEpoch,
    Topology,
)
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.partitions import CLAIMS_MAX, beyond, pairs, together
from rebalance_agent.tracking.epoch import claimed_partitions, handovers
from rebalance_agent.tracking.epoch.epoch_records import EpochGroupRecords
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.epochs import current, fact, gone, joins, named, target
from support.tracker.tracking import WHOLE, feed, tick, topics

ROOM = 10


@pytest.fixture
def _room(monkeypatch):
    monkeypatch.setattr(claimed_partitions, "CLAIMS_MAX", ROOM)


def _started(*observations):
    tracker = Tracker("cluster", settle_ms=1_000)
    feed(tracker, WHOLE, named(t=20), *observations)
    return tracker


def _epoch(at, epoch, **owned):
    yield fact(at, GroupEpoch(epoch))
    yield from (target(at, name, *numbers) for name, numbers in owned.items())
    yield fact(at, TargetEpoch(epoch))
    yield from (current(at, name, epoch, numbers) for name, numbers in owned.items())


def _shown(view):
    return [dict(member.assigned) for member in view.members]


JOINED = [joins(1_000, "a"), joins(1_000, "b")]
FITS = [*_epoch(1_000, 2, a=range(5), b=range(5, 10))]
SHOWN = [{"t": tuple(range(5))}, {"t": tuple(range(5, 10))}]
MORE = [*_epoch(2_000, 3, a=range(6), b=range(6, 12))]


@pytest.mark.usefixtures("_room")
def test_a_group_with_too_many_partitions_shows_none_until_its_members_have_fewer():
    tracker = _started(*JOINED, *FITS)
    view = tracker.view("g")
    assert (view.partitions, view.unassigned, _shown(view)) == (20, 10, SHOWN)
    feed(tracker, *MORE)
    view = tracker.view("g")
    assert (view.generation, view.partitions, view.unassigned, view.skew_ratio, view.idle_members) == (3, *[None] * 4)
    assert _shown(view) == [{}, {}]
    feed(tracker, *_epoch(3_000, 4, b=range(5, 10), a=range(5)))
    view = tracker.view("g")
    assert (view.partitions, view.unassigned, _shown(view)) == (20, 10, SHOWN)


@pytest.mark.usefixtures("_room")
def test_members_that_leave_make_room_again():
    tracker = _started(*JOINED, *FITS, *MORE)
    feed(tracker, *gone(3_000, "b"), *_epoch(3_000, 4, a=range(10)))
    view = tracker.view("g")
    assert (view.partitions, _shown(view)) == (20, [{"t": tuple(range(10))}])


@pytest.mark.usefixtures("_room")
def test_a_rebalance_of_a_group_with_too_many_partitions_waits_for_an_unknown_number():
    tracker = _started(*JOINED, *FITS, *MORE)
    feed(tracker, fact(3_000, GroupEpoch(4)), fact(3_000, TargetEpoch(4)))
    view = tracker.view("g")
    assert [each.partitions for each in view.running.pending.named] == [None, None]
    assert view.running.stalled_partitions == 0


@pytest.mark.parametrize("members", [1, 5])
def test_the_partitions_that_are_kept_are_bounded_whatever_the_members_claim(members):
    records, each = EpochGroupRecords(), tuple(range(CLAIMS_MAX // members))
    for number in range(members + 3):
        records.take(current(0, f"m{number}", 2, each))
        records.take(target(0, f"m{number}", *each))
        assert len(pairs(records.targeted(f"m{number}"))) == (len(each) if number < members else 0)
    kept = [len(pairs(records.current(f"m{number}").held)) for number in range(members + 3)]
    assert kept == [len(each)] * members + [0] * 3
    assert records.unread


@pytest.mark.usefixtures("_room")
@pytest.mark.parametrize("first", ["topology", "tasks"])
def test_a_task_counts_for_each_topic_that_it_reads(first):
    streams = GroupType.STREAMS
    tasks = fact(1_000, CurrentAssignment(2, 0, MemberState.STABLE, {"0": (0, 1)}), "a", group_type=streams)
    topology = fact(1_000, Topology({"0": tuple(f"t{number}" for number in range(6))}), group_type=streams)
    member = fact(1_000, EpochMember("client-a", "/10.0.0.1", process="p"), "a", group_type=streams)
    tracker = Tracker("cluster", settle_ms=1_000)
    feed(
        tracker,
        WHOLE,
        topics(0, **{f"t{number}": 2 for number in range(6)}),
        fact(1_000, GroupEpoch(2), group_type=streams),
        member,
        *((topology, tasks) if first == "topology" else (tasks, topology)),
        fact(1_000, TargetEpoch(2), group_type=streams),
    )
    view = tracker.view("g")
    assert (view.partitions, _shown(view)) == (None, [{}])


def test_an_unchanged_assignment_is_only_compared(monkeypatch):
    numbers = range(1_000)
    tracker = _started(joins(1_000, "a"), *_epoch(1_000, 2, a=numbers), tick(9_000))
    expanded, pairs_of = [], partitions_module.pairs_of
    monkeypatch.setattr(partitions_module, "pairs_of", lambda *args: expanded.append(args) or pairs_of(*args))
    feed(tracker, fact(10_000, GroupEpoch(3)), target(10_000, "a", *numbers), current(10_000, "a", 3, numbers))
    assert expanded == []
    feed(tracker, current(11_000, "a", 3, [*numbers, 1_000]))
    assert {partition for _, some in expanded for partition in some} == {1_000}


@pytest.mark.parametrize("number", [1, 500])
def test_a_revocation_reads_a_members_partitions_a_few_times_however_many_they_are(monkeypatch, number):
    asked = current(0, "a", 2, (), range(number), MemberState.UNREVOKED).value
    done = current(0, "a", 3, ()).value
    calls = []
    monkeypatch.setattr(handovers, "pairs", lambda value: calls.append(value) or pairs(value))
    handovers.Handovers().update("a", asked, done, 1_000)
    assert len(calls) <= 6


def test_partitions_beyond_others_and_together_with_them():
    some, others = {"t": (0, 1, 2), "u": (4,)}, {"t": (1, 3), "u": (4,), "v": (0,)}
    assert beyond(some, others) == {"t": (0, 2)}
    assert beyond(others, some) == {"t": (3,), "v": (0,)}
    assert together(others, some) == together(some, others) == {"t": (0, 1, 2, 3), "u": (4,), "v": (0,)}
    assert pairs(together(some, {})) == pairs(some)
