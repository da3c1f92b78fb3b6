"""Run steps of a release in an environment with the packages of ``requirements/release.lock``.

This file needs only Python's standard library. It installs the environment at the first use and continues in it.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

TESTS = Path(__file__).parents[2]
PATHS = [str(TESTS), str(TESTS.parent), str(TESTS.parent / "agent")]
sys.path[:1] = PATHS

from supply.locks import FOLDER  # noqa: E402 - found by the path above
from supply.programs import UnavailableError, python  # noqa: E402

NO_TOOLS = 4


if __name__ == "__main__":
    try:
        tools = python(FOLDER / "release.lock")
    except UnavailableError as error:
        print(f"release: {error}", file=sys.stderr)
        sys.exit(NO_TOOLS)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(PATHS)}
    os.execve(tools, [tools, "-P", "-m", "supply.release.command", *sys.argv[1:]], environment)
