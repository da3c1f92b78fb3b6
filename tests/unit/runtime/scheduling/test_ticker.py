from __future__ import annotations

import threading

from rebalance_agent.clock import FakeClock, SystemClock
from rebalance_agent.runtime.scheduling.ticker import Ticker

PATIENCE_S = 10


def _made(call, number, *, clock=None, seconds=0.001):
    """Run the ticker until it has made ``number`` calls."""
    made, enough = [], threading.Event()

    def counted():
        made.append(None)
        if len(made) >= number:
            enough.set()
        call()

    pulse = Ticker(seconds, counted, "counted", clock or SystemClock())
    pulse.start()
    try:
        assert enough.wait(PATIENCE_S)
    finally:
        pulse.stop()
        pulse._thread.join(PATIENCE_S)
    return made


def test_a_failed_call_is_reported_and_repeated(caplog):
    def broken():
        raise ZeroDivisionError("oops")

    _made(broken, 3)
    assert "ZeroDivisionError" in caplog.text


def test_missed_calls_are_not_repeated():
    clock, turns = FakeClock(), []

    def slow():
        turns.append(clock.monotonic())
        # Ten intervals pass during the first call; then the clock stops, so there must be no further calls.
        clock.advance(10_000 if len(turns) == 1 else 0)

    assert len(_made(slow, 2, clock=clock, seconds=1.0)) == 2
    assert turns == [0.0, 10.0]


def test_after_the_end_there_are_no_calls():
    calls = []
    pulse = Ticker(0.001, lambda: calls.append(None), "ended", SystemClock())
    pulse.stop()
    pulse.start()
    pulse._thread.join(PATIENCE_S)
    assert calls == []
