"""Builds the Go programs of tests and examples; Go downloads the modules that they need."""

from __future__ import annotations

import atexit
import subprocess
from functools import cache
from pathlib import Path
from shutil import rmtree
from tempfile import mkdtemp

from support.cluster import kube_tools

BUILD_S = 600
"""Longest time (seconds) of a build, which downloads the module's dependencies first."""


@cache
def go_program(folder):
    """The path of the program of the Go module in ``folder``; None if Go is not installed."""
    try:
        go = kube_tools.go()
    except kube_tools.UnavailableError:
        return None
    binary = Path(mkdtemp(prefix="go-program-"), folder.name)
    subprocess.run([go, "build", "-o", binary, "."], cwd=folder, check=True, timeout=BUILD_S)
    atexit.register(rmtree, binary.parent)
    return str(binary)
