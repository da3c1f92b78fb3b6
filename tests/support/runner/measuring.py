"""Runs a measurement of bench/ in its own process, as ``make bench`` does."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[3]
SMALLEST = "0.002"
PATIENCE_S = 300


def measured(name, scale=SMALLEST, patience_s=PATIENCE_S):
    """The rows of a measurement's tables, without their headers."""
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-m", "bench", name, "--scale", scale]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=patience_s, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    tables = [line for line in done.stdout.splitlines() if line.startswith("|")]
    rules = [number for number, line in enumerate(tables) if set(line) <= set("| -")]
    headers = {number - 1 for number in rules}
    return [line for number, line in enumerate(tables) if number not in headers and number not in rules]
