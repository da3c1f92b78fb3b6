"""Commands and environments of our own Python programs."""

from __future__ import annotations

import os
import sys
from pathlib import Path

TESTS = Path(__file__).parents[2]
MODULE = (sys.executable, "-W", "ignore", "-m")
EXIT_WITH_PARENT = (*MODULE, "rebalance_agent.demo.processes.exit_with_parent")
"""Start of a command line whose process ends with its standard input, however the run ends."""

ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join((str(TESTS.parent / "agent"), str(TESTS))),
    "PYTHONFAULTHANDLER": "1",
}
