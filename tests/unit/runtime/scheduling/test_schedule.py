from __future__ import annotations

import logging
import subprocess
import sys
import threading
from datetime import datetime, timedelta

import pytest

from rebalance_agent.clock import SystemClock
from rebalance_agent.runtime.scheduling import schedule as module
from rebalance_agent.runtime.scheduling.schedule import THREADS_MAX, Schedule

PATIENCE_S = 10


def _repeat(call, number):
    """Schedule ``call`` until it was executed ``number`` times."""
    made, enough = [], threading.Event()

    def counted():
        made.append(None)
        if len(made) >= number:
            enough.set()
        call()

    schedule = Schedule(SystemClock())
    schedule.every(0.01, counted, "counted")
    schedule.start()
    try:
        assert enough.wait(PATIENCE_S)
    finally:
        schedule.stop()


def test_frequent_calls_do_not_fill_the_log(caplog):
    with caplog.at_level(logging.INFO):
        _repeat(lambda: None, 3)
    assert caplog.messages == []


def test_a_long_call_does_not_delay_the_end_of_the_process():
    """Threads of the standard library's pools would delay the end, even as daemons."""
    program = f"""
import threading
from rebalance_agent.clock import SystemClock
from rebalance_agent.runtime.scheduling.schedule import Schedule

begun = threading.Event()
schedule = Schedule(SystemClock())
schedule.every(60, lambda: begun.set() or threading.Event().wait(), "long")
schedule.start()
assert begun.wait({PATIENCE_S})
schedule.stop()
"""
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=2 * PATIENCE_S).returncode == 0


def test_a_failed_call_is_reported_and_repeated(caplog):
    def broken():
        raise ZeroDivisionError("oops")

    _repeat(broken, 3)
    assert "ZeroDivisionError" in caplog.text


class SetClock(SystemClock):
    """The machine's clock, set by some seconds."""

    step_s = 0.0

    def now_ms(self):
        return super().now_ms() + round(self.step_s * 1000)


@pytest.fixture
def set_clock(monkeypatch):
    """A clock that APScheduler also uses."""
    clock = SetClock()

    class Now(datetime):
        @classmethod
        def now(cls, tz=None):
            return super().now(tz) + timedelta(seconds=clock.step_s)

    monkeypatch.setattr("apscheduler.schedulers.base.datetime", Now)
    monkeypatch.setattr(module, "LOOK_S", 0.05)
    return clock


@pytest.mark.parametrize("step_s", [-3_600.0, 3_600.0])
def test_calls_continue_after_a_clock_step(set_clock, step_s):
    called = threading.Semaphore(0)
    schedule = Schedule(set_clock)
    schedule.every(0.05, called.release, "often")
    schedule.start()
    try:
        assert called.acquire(timeout=PATIENCE_S)
        set_clock.step_s = step_s
        for _ in range(20):  # more calls than could have started before
            assert called.acquire(timeout=PATIENCE_S)
    finally:
        schedule.stop()


@pytest.mark.parametrize("step_s", [0.0, -3_600.0])
def test_a_call_requested_soon_is_made_at_once(set_clock, step_s):
    called = threading.Semaphore(0)
    schedule = Schedule(set_clock)
    schedule.soon("seldom")  # the call does not exist yet
    schedule.every(3_600, called.release, "seldom")
    schedule.start()
    try:
        assert called.acquire(timeout=PATIENCE_S)
        set_clock.step_s = step_s
        schedule.soon("seldom")
        assert called.acquire(timeout=PATIENCE_S)
    finally:
        schedule.stop()


def test_a_call_requested_while_it_runs_is_repeated_once():
    begun, end, calls = threading.Semaphore(0), threading.Event(), []

    def call():
        calls.append(None)
        begun.release()
        assert end.wait(PATIENCE_S)

    schedule = Schedule(SystemClock())
    schedule.every(3_600, call, "seldom")
    schedule.start()
    try:
        assert begun.acquire(timeout=PATIENCE_S)
        for _ in range(3):
            schedule.soon("seldom")
        assert not begun.acquire(timeout=0.2)
        end.set()
        assert begun.acquire(timeout=PATIENCE_S)
        assert not begun.acquire(timeout=0.2)
        assert len(calls) == 2
    finally:
        schedule.stop()


def test_hanging_calls_use_a_bounded_number_of_threads_and_others_wait():
    end, begun, number = threading.Event(), threading.Semaphore(0), 2 * THREADS_MAX
    before = set(threading.enumerate())
    schedule = Schedule(SystemClock())
    for index in range(number):
        schedule.every(3_600, lambda: begun.release() or end.wait(PATIENCE_S), f"hangs-{index}")
    schedule.start()
    try:
        for _ in range(THREADS_MAX):
            assert begun.acquire(timeout=PATIENCE_S)
        assert not begun.acquire(timeout=0.2)
        assert len(set(threading.enumerate()) - before) == THREADS_MAX + 1  # and the scheduler's own thread
        end.set()
        for _ in range(number - THREADS_MAX):
            assert begun.acquire(timeout=PATIENCE_S)
    finally:
        end.set()
        schedule.stop()


def test_a_hanging_call_delays_no_other():
    end, called = threading.Event(), threading.Semaphore(0)
    schedule = Schedule(SystemClock())
    schedule.every(3_600, lambda: end.wait(PATIENCE_S), "hangs")
    schedule.every(0.05, called.release, "often")
    schedule.start()
    try:
        for _ in range(5):
            assert called.acquire(timeout=PATIENCE_S)
    finally:
        end.set()
        schedule.stop()


def test_soon_postpones_no_call():
    """Independent of our clock, because APScheduler uses another one."""
    called, clock = threading.Semaphore(0), SetClock()
    schedule = Schedule(clock)
    schedule.every(0.05, called.release, "often")
    schedule.start()
    try:
        assert called.acquire(timeout=PATIENCE_S)
        clock.step_s = 3_600.0
        schedule.soon("often")
        for _ in range(5):
            assert called.acquire(timeout=PATIENCE_S)
    finally:
        schedule.stop()
