"""As ``test_snapshot_restarts`` for epoch groups: after a kill at any record, the same events are published."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from rebalance_agent.model.epoch_groups import GroupEpoch, TargetEpoch
from support.examples import examples
from support.observer.restarts import TICK_MS, Observed, numbered, reported_together
from support.tracker.epoch_model import EpochCoordinator
from support.tracker.epochs import current, fact, gone, joins, named, target
from support.tracker.tracking import T0

PARTITIONS = 4
BEFORE = (named(t=PARTITIONS),)
ACTIONS = ["join", "leave", "assign", "beat", "beat"]
STEPS = st.lists(
    st.tuples(st.sampled_from("abc"), st.sampled_from(ACTIONS), st.sampled_from([10, 700, 3_000])), max_size=30
)
END_MS = T0 + 150_000


def logged(records):
    return numbered([((record.kind.__name__, record.subject), record) for record in records])


def reported_by_one_and_by_two(log, killed_ms, away_ms, settle_ms):
    """The events of one observer, and those of two observers, the first of which is killed."""
    begin = lambda: Observed(log, BEFORE, settle_ms)  # noqa: E731
    killed, back_ms = begin().live(T0, killed_ms), killed_ms + away_ms
    successor = killed.successor(back_ms).live(back_ms, END_MS)
    return begin().live(T0, END_MS).reported(), reported_together([killed, successor])


@settings(max_examples=examples(60))
@given(STEPS, st.booleans(), st.integers(0, 60), st.integers(0, 20), st.sampled_from([0, 1_000, 5_000]))
def test_after_a_kill_at_any_record_the_same_is_published(steps, deleted, lived, away, settle_ms):
    coordinator = EpochCoordinator(PARTITIONS)
    for step in steps:
        coordinator.step(*step)
    coordinator.settle()
    if deleted:
        coordinator.delete()
    log = logged(record for batch in coordinator.batches for record in batch)
    whole, together = reported_by_one_and_by_two(log, T0 + lived * TICK_MS, away * TICK_MS, settle_ms)
    assert together == whole


def test_partitions_of_an_absent_static_member_are_known_after_a_restart_when_it_is_expelled():
    log = logged(
        [
            joins(1_000, "a", instance_id="i"),
            fact(1_000, GroupEpoch(2)),
            target(1_000, "a", 0, 1, 2, 3),
            fact(1_000, TargetEpoch(2)),
            current(1_000, "a", 2, (0, 1, 2, 3)),
            current(10_000, "a", -2, (0, 1, 2, 3)),
            *gone(20_000, "a"),
            fact(20_000, GroupEpoch(3)),
        ]
    )
    for killed_ms in range(T0, T0 + 30_000, TICK_MS):
        whole, together = reported_by_one_and_by_two(log, killed_ms, 0, 1_000)
        assert together == whole
