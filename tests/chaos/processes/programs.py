"""Commands and environments of our own Python programs."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from support.observer.observing import PATIENCE_S

TESTS = Path(__file__).parents[2]
MODULE = (sys.executable, "-W", "ignore", "-m")
EXIT_WITH_PARENT = (*MODULE, "rebalance_agent.demo.processes.exit_with_parent")
"""Start of a command line whose process ends with its standard input, however the run ends."""

ENVIRONMENT = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join((str(TESTS.parent / "agent"), str(TESTS))),
    "PYTHONFAULTHANDLER": "1",
}


def run_program(module, *arguments):
    """Run one of our modules to its end; return its output. Raises CalledProcessError if it fails."""
    command = [*MODULE, module, *map(str, arguments)]
    done = subprocess.run(command, env=ENVIRONMENT, stdout=subprocess.PIPE, text=True, check=True, timeout=PATIENCE_S)
    return done.stdout.strip()
