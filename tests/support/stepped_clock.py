"""``python -m support.stepped_clock FILE ARGUMENTS...``: the agent, with a clock that is wrong by what FILE says.

FILE holds milliseconds, and is read again with each look at the clock: so that a running agent's clock can be set.
"""

from __future__ import annotations

import sys
from pathlib import Path

from rebalance_agent.cli.main import main
from rebalance_agent.clock import SystemClock


def step_by(path):
    """From now on every `SystemClock` of this process is wrong."""
    right = SystemClock.now_ms

    def now_ms(self):
        return right(self) + int(path.read_text() or 0)

    SystemClock.now_ms = now_ms


if __name__ == "__main__":
    step_by(Path(sys.argv[1]))
    sys.exit(main(sys.argv[2:]))
