"""The ledger accepts the events of several killed and restarted observers, with their duplicates."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.model.group import GroupType
from rebalance_agent.tracking.observations import Backfilled, Tick
from rebalance_agent.tracking.tracker import Tracker
from support.examples import examples
from support.observer.posted import ledger_of, posted
from support.observer.restarts import TICK_MS, Observed, numbered
from support.tracker.epoch_model import EpochCoordinator
from support.tracker.epochs import ID, named
from support.tracker.random_groups import group_records
from support.tracker.tracking import REBALANCE_MS, T0, feed

PARTITIONS = 4
END_MS = T0 + 200_000 + REBALANCE_MS
SNAPSHOT_MS = 10_000
"""Ticks between snapshots: rare enough that many events are repeated."""

LIVES = st.lists(st.tuples(st.integers(0, 120), st.integers(0, 60)), min_size=1, max_size=3)
"""Life and following absence of an observer, in ticks."""

CLASSIC = st.tuples(group_records("g"), group_records("h")).map(
    lambda reported: numbered(sorted(reported[0] + reported[1], key=lambda each: each[1].timestamp_ms))
)
STEPS = st.lists(
    st.tuples(
        st.sampled_from("abc"),
        st.sampled_from(["join", "leave", "assign", "beat", "beat"]),
        st.sampled_from([10, 700, 3_000]),
    ),
    min_size=10,
    max_size=40,
)


@st.composite
def assigned(draw):
    """The records of a group whose coordinator assigns, at independent times."""
    coordinator = EpochCoordinator(PARTITIONS, group_type=draw(st.sampled_from([GroupType.CONSUMER, GroupType.SHARE])))
    for step in draw(STEPS):
        coordinator.step(*step)
    coordinator.settle()
    records = [record for batch in coordinator.batches for record in batch]
    return numbered([((record.kind.__name__, record.subject), record) for record in records])


def report(log, lives, before):
    """The audit of all events that the observers published one after the other."""
    now_ms, observers = T0, [Observed(log, before, snapshot_ms=SNAPSHOT_MS)]
    for lived, away in lives:
        observers[-1].live(now_ms, now_ms + lived * TICK_MS)
        now_ms += (lived + away) * TICK_MS
        observers.append(observers[-1].successor(now_ms))
    observers[-1].live(now_ms, max(END_MS, now_ms + REBALANCE_MS + 20_000))
    events = [event for observer in observers for event in observer.events]
    return ledger_of(events, [posted(record, offset) for offset, (_, record) in enumerate(log)], names={ID: "t"})


def beside(log, cut, before):
    """The audit of events of an observer from the beginning, and of another one that starts within the log without a
    snapshot."""
    while 0 < cut < len(log) and log[cut][1].timestamp_ms == log[cut - 1][1].timestamp_ms:
        cut += 1  # a batch of records is complete
    left = {key: replace(record, live=False) for key, record in log[:cut]}
    base, rest = [each for each in left.values() if each.value is not None], [record for _, record in log[cut:]]
    begun, end = Backfilled(END_MS, frozenset({0})), Tick(END_MS + 10 * REBALANCE_MS)
    whole = feed(Tracker("cluster"), *before, begun, *(record for _, record in log), end)
    late = feed(Tracker("cluster"), *before, *base, begun, *rest, end)
    return ledger_of(
        [*whole, *late], [posted(record, offset) for offset, (_, record) in enumerate(log)], names={ID: "t"}
    )


@settings(max_examples=examples(60))
@given(CLASSIC, LIVES)
def test_copies_of_classic_groups_agree(log, lives):
    assert list(map(str, report(log, lives, ()).differences)) == []


@settings(max_examples=examples(60))
@given(assigned(), LIVES)
def test_copies_of_groups_whose_coordinator_assigns_agree(log, lives):
    assert list(map(str, report(log, lives, (named(t=PARTITIONS),)).differences)) == []


@settings(max_examples=examples(60))
@given(CLASSIC, st.integers(0, 12))
def test_an_observer_started_later_contradicts_no_event_of_classic_groups(log, cut):
    assert list(map(str, beside(log, cut, ()).differences)) == []


@settings(max_examples=examples(60))
@given(assigned(), st.integers(0, 60))
def test_an_observer_started_later_contradicts_no_event_of_groups_whose_coordinator_assigns(log, cut):
    assert list(map(str, beside(log, cut, (named(t=PARTITIONS),)).differences)) == []
