from __future__ import annotations

import random

from rebalance_agent.cluster.backoff import Backoff


def test_waits_double_up_to_the_maximum():
    delays = [Backoff.next(backoff) for backoff in [Backoff(0.2, 3.0, random.Random(1))] for _ in range(2_000)]
    spans = [0.2, 0.4, 0.8, 1.6, 3.0]
    assert all(span / 2 <= delay <= span for span, delay in zip(spans, delays, strict=False))
    assert all(1.5 <= delay <= 3.0 for delay in delays[4:])


def test_two_agents_that_fail_at_the_same_time_retry_at_different_times():
    assert Backoff().next() != Backoff().next()


def test_success_makes_the_next_failure_a_first_one():
    backoff = Backoff(0.2, 60)
    for _ in range(10):
        backoff.next()
    backoff.reset()
    assert backoff.next() <= 0.2
