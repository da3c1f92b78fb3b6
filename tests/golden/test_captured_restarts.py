"""Observers that are killed and resume from snapshots give the same events for captured topics."""

from __future__ import annotations

import itertools

import pytest

from support.kafka.captured import CAPTURED_TOPIC, EVERY_KIND
from support.observer.restarts import TICK_MS, Observed, reported_together

LATER_MS = 60_000
KILLED_EVERY_MS = {CAPTURED_TOPIC.name: TICK_MS, EVERY_KIND.name: 5 * TICK_MS}
CASES = [
    *((CAPTURED_TOPIC, *each) for each in itertools.product([0, 1_000, 5_000], [0, 3_000])),
    (EVERY_KIND, 0, 0),
    (EVERY_KIND, 1_000, 3_000),
]


@pytest.mark.no_cover  # the same lines at hundreds of times: coverage takes longer than the test
@pytest.mark.parametrize(("capture", "settle_ms", "away_ms"), CASES, ids=lambda each: getattr(each, "name", None))
def test_after_a_kill_at_any_record_the_same_events_are_published(capture, settle_ms, away_ms):
    log, end_ms = capture.log(), capture.end_ms + LATER_MS
    begin = lambda: Observed(log, (capture.topics,), settle_ms)  # noqa: E731
    whole = begin().live(capture.start_ms, end_ms).reported()
    assert len(whole) > 15
    killed, since_ms = begin(), capture.start_ms  # it continues after each successor has taken over
    for killed_ms in range(capture.start_ms, capture.end_ms + 10_000, KILLED_EVERY_MS[capture.name]):
        killed.live(since_ms, killed_ms)
        since_ms = killed_ms + TICK_MS
        successor = killed.successor(killed_ms + away_ms).live(killed_ms + away_ms, end_ms)
        assert reported_together([killed, successor]) == whole, killed_ms - capture.start_ms


@pytest.mark.parametrize("capture", [CAPTURED_TOPIC, EVERY_KIND], ids=lambda each: each.name)
def test_snapshots_cover_almost_all_written_records(capture):
    observer = Observed(capture.log(), (capture.topics,), 1_000)
    behind = []
    for now_ms in range(capture.start_ms, capture.end_ms + LATER_MS, TICK_MS):
        observer.live(now_ms, now_ms)
        behind.append(observer.position - observer.covered)
    assert behind[-1] == 0
    assert behind.count(0) > len(behind) / 2
