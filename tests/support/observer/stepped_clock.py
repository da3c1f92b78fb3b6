"""``python -m support.observer.stepped_clock FILE ARGUMENTS...``: the agent with a wrong clock.

FILE contains the clock's offset in milliseconds, and is read at each use of the clock, so that a test can set a running
agent's clock. APScheduler uses the same clock.
"""

from __future__ import annotations

import sys
from datetime import datetime
from pathlib import Path

from apscheduler.schedulers import base
from apscheduler.triggers import interval

from rebalance_agent.cli.main import main
from rebalance_agent.clock import SystemClock


def step_by(path):
    """Add the offset in the file ``path`` to every `SystemClock.now_ms` of this process from now on."""
    right = SystemClock.now_ms

    def now_ms(self):
        return right(self) + int(path.read_text() or 0)

    class Stepped(datetime):
        """``datetime`` with the wrong clock."""

        @classmethod
        def now(cls, tz=None):
            """The current time of the wrong clock."""
            return datetime.fromtimestamp(SystemClock().now_ms() / 1000, tz)

    SystemClock.now_ms = now_ms
    for module in (base, interval):
        module.datetime = Stepped


if __name__ == "__main__":
    step_by(Path(sys.argv[1]))
    sys.exit(main(sys.argv[2:]))
