"""``make test``: runs the test tiers in order, says how long each took, and what did not run and why.

``python tests/run.py [--tier NAME]... [-- PYTEST ARGUMENTS]``. Exit code 0 only when every tier that ran has passed.
Without ``--tier`` all but the slow one run, which ``make test-slow`` asks for by name.
Under ``CI=true`` a missing tool is an error; elsewhere the tests that need it are skipped and listed at the end.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from rebalance_agent.clock import SystemClock
from support import tools

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
COVERAGE = ["--cov", "--cov-report=", "--cov-append"]


@dataclass(frozen=True)
class Tier:
    """One group of commands that pass or fail together."""

    name: str
    commands: tuple[tuple[str, ...], ...]


def pytest(*arguments: str) -> tuple[str, ...]:
    """The pytest command with the coverage of this run added up over the tiers."""
    return (str(BIN / "python"), "-m", "pytest", "-q", *COVERAGE, *arguments)


TIERS = (
    Tier(
        "static",
        (
            (str(BIN / "ruff"), "check", "."),
            (str(BIN / "ruff"), "format", "--check", "."),
            (str(BIN / "mypy"),),
            (str(BIN / "lint-imports"), "--no-cache"),
        ),
    ),
    Tier("fast", (pytest("tests/unit", "tests/properties", "tests/golden", "tests/contracts"),)),
    # Kafka's Java classes live in the test process: a process of its own, without the threads of clients.
    Tier("peers", (pytest("tests/peers"),)),
    Tier("integration", (pytest("tests/integration"),)),
)

SLOW = Tier("slow", ((str(BIN / "python"), "-m", "pytest", "-q", "--timeout=3600", "tests/slow"),))
"""Soaks of many minutes: apart from what every change must pass."""


def main() -> int:
    """Run the chosen tiers and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tier", action="append", choices=[tier.name for tier in (*TIERS, SLOW)])
    parser.add_argument("pytest", nargs="*", help="further arguments for every pytest tier")
    options = parser.parse_args()
    chosen = [tier for tier in (*TIERS, SLOW) if tier.name in options.tier] if options.tier else list(TIERS)

    os.chdir(ROOT)
    for stale in ROOT.glob(".coverage*"):
        stale.unlink()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "agent")}
    missing = tools.provide(environment)
    if missing and os.environ.get("CI") == "true":
        print(*missing, sep="\n", file=sys.stderr)
        return 1

    clock = SystemClock()
    rows: list[tuple[str, float, bool]] = []
    for tier in chosen:
        start = clock.monotonic()
        print(f"=== {tier.name}", flush=True)
        results = [run(command, options.pytest, environment) for command in tier.commands]
        rows.append((tier.name, clock.monotonic() - start, all(results)))
    report_coverage(environment)
    print("\ntier            minutes")
    for name, seconds, passed in rows:
        print(f"{name:<15} {seconds / 60:7.1f}  {'passed' if passed else 'FAILED'}")
    if missing:
        print("\nnot run:", *missing, sep="\n  ")
    return 0 if all(passed for _, _, passed in rows) else 1


def run(command: tuple[str, ...], extra: list[str], environment: dict[str, str]) -> bool:
    """Run one command of a tier; True when it passed."""
    arguments = [*command, *extra] if "pytest" in command else list(command)
    return subprocess.run(arguments, env=environment, check=False).returncode == 0


def report_coverage(environment: dict[str, str]) -> None:
    """Show the coverage of all tiers together; it informs, it does not judge."""
    if any(ROOT.glob(".coverage*")):
        command = [str(BIN / "python"), "-m", "coverage", "report", "--skip-covered", "--precision=0"]
        subprocess.run(command, env=environment, check=False)


if __name__ == "__main__":
    sys.exit(main())
