"""Commands and environments of our own Python programs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

TESTS = Path(__file__).parents[1]
MODULE = (sys.executable, "-W", "ignore", "-m")
EXIT_WITH_PARENT = (*MODULE, "rebalance_agent.demo.processes.exit_with_parent")
"""What is started by this ends when its standard input does: however the run ends."""

ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join((str(TESTS.parent / "agent"), str(TESTS))),
    "PYTHONFAULTHANDLER": "1",
}
