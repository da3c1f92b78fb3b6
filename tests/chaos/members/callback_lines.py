"""Prints a member's actions as lines in the format of `member_lines`, until standard input ends.

Once a second it prints ``late MS US...``: for each late poll, by how many microseconds it exceeded its timeout.
"""

from __future__ import annotations

import faulthandler
import json
import os
import sys
import threading
from contextlib import contextmanager

from rebalance_agent.clock import SystemClock

POLL_S = 0.1
SAID_EVERY_S = 1.0
LEAVING_S = 80.0
"""Longest time (seconds) for leaving: at the end of the run all brokers may be gone, and librdkafka waits for one."""


class Polls:
    """Measures the polls of one consumer and prints their lateness."""

    def __init__(self):
        self._clock = SystemClock()
        self._late_us, self._said_at = [], self._clock.monotonic()

    def say(self, word, *numbers):
        """Print one line at once, so that none is lost with the process."""
        sys.stdout.write(" ".join(map(str, (word, self._clock.now_ms(), *numbers))) + "\n")
        sys.stdout.flush()

    def reported(self, word, partitions):
        """Report a callback of this name for ``partitions``."""
        self.say(word, *(each.partition for each in partitions))

    @contextmanager
    def poll(self):
        """Measure the block, a poll, which should take `POLL_S` at most."""
        asked = self._clock.monotonic()
        yield
        ended = self._clock.monotonic()
        if (late_s := ended - asked - POLL_S) > 0:
            self._late_us.append(max(1, round(late_s * 1_000_000)))
        if ended - self._said_at > SAID_EVERY_S:
            self.say("late", *self._late_us)
            self._late_us, self._said_at = [], ended


def act_as(member):
    """Run the function ``member`` with the configuration in the first argument, until standard input ends."""
    config, stop = json.loads(sys.argv[1]), threading.Event()
    threading.Thread(target=_end, args=(stop,), daemon=True).start()
    member(config, Polls(), stop)


def _end(stop):
    sys.stdin.read()
    stop.set()
    threading.Event().wait(LEAVING_S)
    faulthandler.dump_traceback()  # of all threads, to standard error: it shows what never returned
    os._exit(1)
