"""``make test``: runs the test tiers, says how long each took, and what did not run and why.

``python tests/run.py [--tier NAME]... [-- PYTEST ARGUMENTS]``. Exit code 0 only when every tier that ran has passed.
Without ``--tier`` all run but those that somebody has to ask for by name, as ``make test-slow`` does.
Under ``CI=true`` a missing tool is an error; elsewhere the tests that need it are skipped and listed at the end.

Tiers that disturb nobody share the processors, and the output of each command comes when it is done. Those that watch
real sockets and real time run alone. What a tier can have built beforehand is built from the start on, of the processor
time that the others leave.
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from rebalance_agent.clock import Clock, SystemClock
from support.runner import tools
from support.runner.background import in_background
from support.runner.jobs import Job, run_jobs

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
PYTEST = (str(BIN / "python"), "-m", "pytest", "-q", *(["--color=yes"] if sys.stdout.isatty() else []))
NO_TESTS = 5  # pytest's exit status where none was chosen
MEMORY = Path("/dev/shm")  # Linux's file system in memory
MEMORY_BYTES_MIN = 8 << 30  # brokers, Spark and what they write have some four gigabytes together


@dataclass(frozen=True)
class Command:
    """A program of the environment; ``pytest`` if it is one that takes pytest's arguments."""

    name: str
    arguments: tuple[str, ...]
    pytest: bool = False


@dataclass(frozen=True)
class Tier:
    """Commands that pass or fail together; ``alone`` if nothing may run beside any of them.

    ``beforehand``: what builds that which the tests else build themselves, for minutes.
    """

    name: str
    commands: tuple[Command, ...]
    alone: bool = False
    beforehand: Command | None = None


def tool(*arguments: str) -> Command:
    """A program that reads the tree and says what is wrong with it."""
    return Command(" ".join(arguments), (str(BIN / arguments[0]), *arguments[1:]))


def pytest(*arguments: str, coverage: bool = True) -> Command:
    """A pytest process, which counts the lines that it runs: pure Python takes two to three times as long by that."""
    counting = ("--cov", "--cov-report=") if coverage else ()
    return Command(" ".join(("pytest", *arguments)), (*PYTEST, *counting, *arguments), pytest=True)


TIERS = (
    Tier(
        "static",
        (
            tool("ruff", "check", "."),
            tool("ruff", "format", "--check", "."),
            tool("mypy"),
            tool("lint-imports", "--no-cache"),
        ),
    ),
    Tier(
        "fast",
        (
            # The longest first, for all wait for what is begun last. Its lines are those that the others count, too.
            pytest("tests/properties", coverage=False),
            pytest("tests/unit", "tests/golden", "tests/contracts", "--ignore=tests/unit/assignors"),
            pytest("tests/unit/assignors"),
            pytest("tests/fuzz", "tests/soak"),
        ),
    ),
    # Kafka's Java classes live in the test process: a process of its own, without the threads of clients.
    Tier("peers", (pytest("tests/peers"),)),
    # Before those that run alone, and the last of the others: the more of Kubernetes is built by then.
    Tier(
        "helm",
        # Each with an API server of its own.
        (
            pytest("tests/helm", "--ignore-glob=*/test_injection*", "--timeout=1800", coverage=False),
            pytest("tests/helm", "--ignore-glob=*/test_[ac]*", "--timeout=1800", coverage=False),
        ),
        beforehand=tool("python", "-m", "support.cluster.kube_tools"),
    ),
    Tier("integration", (pytest("tests/integration"),), alone=True),
    # One run of the demo under a real Prometheus, on which alerts and boards are proved together.
    Tier("live", (pytest("tests/alerts", "tests/dashboards", coverage=False),), alone=True),
    # Spark takes both processors for itself, and its Java counts no lines of ours.
    Tier("spark", (pytest("tests/spark", "--timeout=600"),), alone=True),
)

ON_REQUEST = (
    # Soaks of many minutes.
    Tier("slow", (pytest("tests/slow", "--timeout=3600", coverage=False),), alone=True),
    # A real node: root on Linux, packages of the system, and all the rest of Kubernetes to build.
    Tier("node", (pytest("tests/node", "--timeout=3600", coverage=False),), alone=True),
)
"""Apart from what every change must pass."""


@dataclass(frozen=True)
class Row:
    """What is said of a tier in the end: minutes from its first command's start to its last one's end."""

    tier: str
    minutes: float
    passed: bool


def main() -> int:
    """Run the chosen tiers and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tier", action="append", choices=[tier.name for tier in (*TIERS, *ON_REQUEST)])
    parser.add_argument("pytest", nargs="*", help="further arguments for every pytest tier")
    options = parser.parse_args()
    chosen = [tier for tier in (*TIERS, *ON_REQUEST) if tier.name in options.tier] if options.tier else list(TIERS)

    os.chdir(ROOT)
    for stale in ROOT.glob(".coverage*"):
        stale.unlink()
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "agent")}
    missing = tools.provide(environment)
    if missing and os.environ.get("CI") == "true":
        print(*missing, sep="\n", file=sys.stderr)
        return 1

    scratch = in_memory()
    if scratch:
        environment["TMPDIR"] = scratch

    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # the way out that ends the tests, too
    # A shell that starts this in the background has Ctrl-C ignored, which the programs under test would inherit.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    clock = SystemClock()
    start = clock.monotonic()
    rows: list[Row] = []
    beforehand = {tier.name: tier.beforehand.arguments for tier in chosen if tier.beforehand}
    try:
        with in_background(beforehand.values(), {**environment, "PYTHONPATH": str(ROOT / "tests")}) as building:
            rows = [row for tiers in apart(chosen) for row in run(tiers, options.pytest, environment, clock)]
            missing += not_built(beforehand, [process.poll() for process in building])
    except KeyboardInterrupt:
        print("\ninterrupted", file=sys.stderr)
        return 128 + signal.SIGINT
    finally:
        passed = all(row.passed for row in rows)
        if scratch and passed:
            shutil.rmtree(scratch, ignore_errors=True)
    minutes = (clock.monotonic() - start) / 60
    report_coverage(environment)
    print("\ntier            minutes")
    for row in rows:
        print(f"{row.tier:<15} {row.minutes:7.1f}  {'passed' if row.passed else 'FAILED'}")
    print(f"{'in all':<15} {minutes:7.1f}")
    if missing:
        print("\nnot run:", *missing, sep="\n  ")
    if scratch and not passed:
        print(f"\nwhat the tests wrote is in {scratch}: in memory, until it is removed")
    return 0 if passed else 1


def not_built(beforehand: Mapping[str, Sequence[str]], statuses: Sequence[int | None]) -> Iterator[str]:
    """What is said of each tier whose command ``beforehand`` has ended, and not well; None: it still runs."""
    for (name, command), status in zip(beforehand.items(), statuses, strict=True):
        if status:
            yield f"{name}: tests whose programs cannot be built. The reason: PYTHONPATH=tests {' '.join(command)}"


def in_memory() -> str | None:
    """A new folder for the tests' files in memory, if there is much of it; None: on disk, where they are else.

    Brokers wait for the disk at every sync. A disk that is shared or limited can make all of them wait until every
    session has run out, and none of them is to blame.
    """
    try:
        room = min(shutil.disk_usage(MEMORY).free, os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        return tempfile.mkdtemp(prefix="rebalance-agent-tests-", dir=MEMORY) if room > MEMORY_BYTES_MIN else None
    except OSError:
        return None


def apart(tiers: list[Tier]) -> Iterator[list[Tier]]:
    """The tiers in their order: neighbours that disturb nobody together, each of the others for itself."""
    for alone, neighbours in groupby(tiers, key=lambda tier: tier.alone):
        together = list(neighbours)
        yield from [[tier] for tier in together] if alone else [together]


def run(tiers: list[Tier], extra: list[str], environment: dict[str, str], clock: Clock) -> list[Row]:
    """Run all commands of ``tiers``: one for each processor at once, unless they have to be alone."""
    at_once = 1 if tiers[0].alone else os.cpu_count() or 1
    jobs = [job(tier, command, extra, environment) for tier in tiers for command in tier.commands]
    results = run_jobs(jobs, at_once, clock)
    rows = []
    for tier in tiers:
        mine, results = results[: len(tier.commands)], results[len(tier.commands) :]
        seconds = max(each.ended for each in mine) - min(each.began for each in mine)
        rows.append(Row(tier.name, seconds / 60, all(each.status in good_ends(extra) for each in mine)))
    return rows


def job(tier: Tier, command: Command, extra: list[str], environment: dict[str, str]) -> Job:
    """A command as it is run; each counts what it covers in a file of its own, for they run side by side."""
    data = ROOT / f".coverage.{tier.name}-{tier.commands.index(command)}"
    arguments = (*command.arguments, *extra) if command.pytest else command.arguments
    return Job(f"{tier.name}: {command.name}", arguments, {**environment, "COVERAGE_FILE": str(data)})


def good_ends(extra: list[str]) -> set[int]:
    """Exit statuses of success: what somebody chooses with ``extra`` need not be in every command's folders."""
    return {0, NO_TESTS} if extra else {0}


def report_coverage(environment: dict[str, str]) -> None:
    """Show the coverage of all tiers together; it informs, it does not judge."""
    if any(ROOT.glob(".coverage.*")):
        for arguments in (("combine", "--quiet"), ("report", "--skip-covered", "--precision=0")):
            subprocess.run([str(BIN / "python"), "-m", "coverage", *arguments], env=environment, check=False)


if __name__ == "__main__":
    sys.exit(main())
