"""An observer that is killed at any record and resumes from its snapshot publishes the same as without the kill."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from support.examples import examples
from support.observer.restarts import TICK_MS, Observed, numbered, reported_together
from support.tracker.random_groups import group_records
from support.tracker.tracking import REBALANCE_MS, T0

END_MS = REBALANCE_MS + 20_000
"""Time after which all is settled: each successor waits again this long for an announced follow-up."""
LOGS = st.tuples(group_records("g"), group_records("h")).map(
    lambda groups: numbered(sorted(groups[0] + groups[1], key=lambda each: each[1].timestamp_ms))
)
LIVES = st.lists(st.tuples(st.integers(0, 120), st.integers(0, 60)), min_size=1, max_size=2)
"""Life and following absence of an observer, in ticks."""


@settings(max_examples=examples(60))
@given(LOGS, LIVES, st.sampled_from([TICK_MS, 5_000]))
def test_after_a_kill_at_any_record_the_same_is_published(log, lives, snapshot_ms):
    end_ms = T0 + 200_000
    whole = Observed(log).live(T0, end_ms)
    now_ms, observers = T0, [Observed(log, snapshot_ms=snapshot_ms)]
    for lived, away in lives:
        observers[-1].live(now_ms, now_ms + lived * TICK_MS)
        now_ms += (lived + away) * TICK_MS
        observers.append(observers[-1].successor(now_ms))
    observers[-1].live(now_ms, max(end_ms, now_ms + END_MS))
    assert reported_together(observers) == whole.reported()


@settings(max_examples=examples(30))
@given(LOGS, st.integers(0, 120), st.integers(0, 60))
def test_records_from_before_its_start_are_reported_and_not_counted(log, lived, away):
    killed = Observed(log).live(T0, T0 + lived * TICK_MS)
    back_ms = T0 + (lived + away) * TICK_MS
    successor = killed.successor(back_ms)
    written = successor.position
    successor.live(back_ms, back_ms + END_MS + 200_000)
    for group in "gh":
        later = sum(key == group for key, _ in log[written:])
        assert (successor.counted(group) or 0) <= later
