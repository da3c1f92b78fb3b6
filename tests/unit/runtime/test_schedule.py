from __future__ import annotations

import logging
import subprocess
import sys
import threading

from rebalance_agent.clock import SystemClock
from rebalance_agent.runtime.schedule import Schedule

PATIENCE_S = 10


def _repeat(call, number):
    """Schedule ``call`` until it was made ``number`` times."""
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


def test_what_is_called_several_times_a_second_does_not_fill_the_log(caplog):
    with caplog.at_level(logging.INFO):
        _repeat(lambda: None, 3)
    assert caplog.messages == []


def test_a_call_that_takes_long_does_not_keep_the_process_from_ending():
    """The threads of the standard library's pools would, daemons or not."""
    program = f"""
import threading
from rebalance_agent.clock import SystemClock
from rebalance_agent.runtime.schedule import Schedule

begun = threading.Event()
schedule = Schedule(SystemClock())
schedule.every(60, lambda: begun.set() or threading.Event().wait(), "long")
schedule.start()
assert begun.wait({PATIENCE_S})
schedule.stop()
"""
    assert subprocess.run([sys.executable, "-c", program], check=False, timeout=2 * PATIENCE_S).returncode == 0


def test_a_call_that_raises_is_told_and_made_again(caplog):
    def broken():
        raise ZeroDivisionError("oops")

    _repeat(broken, 3)
    assert "ZeroDivisionError" in caplog.text
