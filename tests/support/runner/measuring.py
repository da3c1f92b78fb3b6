"""Runs a measurement of bench/ in its own process, as ``make bench`` does."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
SMALLEST = "0.002"
PATIENCE_S = 300


def measured(name, scale=SMALLEST, patience_s=PATIENCE_S):
    """The rows of a measurement's tables, without their headers."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-m", "bench", name, "--scale", scale]
    output, errors, status = _run(command, patience_s)
    assert status == 0, errors[-3000:]
    tables = [line for line in output.splitlines() if line.startswith("|")]
    rules = [number for number, line in enumerate(tables) if set(line) <= set("| -")]
    headers = {number - 1 for number in rules}
    return [line for number, line in enumerate(tables) if number not in headers and number not in rules]


def _run(command, patience_s):
    """The output, the errors and the exit status of ``command``; its processes end with it, also after a timeout."""
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True, start_new_session=True) as process:
        try:
            output, errors = process.communicate(timeout=patience_s)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
        return output, errors, process.returncode
