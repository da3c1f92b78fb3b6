"""``make test``: runs the test tiers, reports how long each took, and what did not run and why.

``python tests/run.py [--fast] [--tier NAME]... [-- PYTEST ARGUMENTS]``. Exit code 0 only when every tier that ran has
passed. Without ``--tier`` all run but those that have to be asked for by name, as ``make test-slow`` does. ``--fast``
is the loop of change and try, as ``make test-fast`` runs it: no coverage, no Spark, and with a broker one path end to
end. Under ``CI=true`` a missing tool is an error; elsewhere the tests that need it are skipped and listed at the end.

Two lanes keep the processors busy. Tests that watch real sockets and real time wait for most of theirs: they have the
normal priority, two processes at once, or one where a timetable has to be kept. All that computes runs beside them with
a lower priority, of the processor time that they leave. Processes of one tier share its files
(`support.runner.shares`), so that they end together. The output of each command comes when it is done. What a tier can
have built beforehand is built from the start on, at the lowest priority.
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
from itertools import count, islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from rebalance_agent.clock import Clock, SystemClock
from support.runner import tools
from support.runner.background import in_background
from support.runner.jobs import Job, Lane, run_jobs

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
PYTEST = (str(BIN / "python"), "-m", "pytest", "-q", *(["--color=yes"] if sys.stdout.isatty() else []))
NO_TESTS = 5  # pytest's exit status where none was chosen
MEMORY = Path("/dev/shm")  # Linux's file system in memory
MEMORY_BYTES_MIN = 8 << 30  # brokers, Spark and what they write have some four gigabytes together


COMPUTING = Lane(os.cpu_count() or 1, niceness=10)
"""Commands that need a processor, and no certain time."""

WAITING = Lane(2)
"""Commands that wait for brokers, timers and processes more than they compute."""

ALONE = Lane(1)
"""Commands beside which nothing runs, of tiers that are asked for by name."""


@dataclass(frozen=True)
class Command:
    """A program of the environment; ``pytest`` if it is one that takes pytest's arguments.

    ``processes``: how many run at once, and share the test files. ``slots``: how much room each takes in its lane.
    """

    name: str
    arguments: tuple[str, ...]
    lane: Lane = COMPUTING
    pytest: bool = False
    processes: int = 1
    slots: int = 1


@dataclass(frozen=True)
class Tier:
    """Commands that pass or fail together.

    ``beforehand``: what builds that which the tests else build themselves, for minutes.
    """

    name: str
    commands: tuple[Command, ...]
    beforehand: Command | None = None


def tool(*arguments: str) -> Command:
    """A program that reads the tree and reports what is wrong with it."""
    return Command(" ".join(arguments), (str(BIN / arguments[0]), *arguments[1:]))


def pytest(
    *arguments: str, lane: Lane = COMPUTING, processes: int = 1, slots: int = 1, coverage: bool = True
) -> Command:
    """A pytest process, which counts the lines that it runs: pure Python takes two to three times as long by that.

    Tests that are marked ``no_cover`` run without that: others count the same lines.
    """
    counting = ("--cov", "--cov-report=") if coverage else ()
    name = " ".join(("pytest", *arguments))
    return Command(name, (*PYTEST, *counting, *arguments), lane, pytest=True, processes=processes, slots=slots)


STATIC = Tier(
    "static",
    (
        tool("mypy"),
        tool("ruff", "check", "."),
        tool("ruff", "format", "--check", "."),
        tool("lint-imports", "--no-cache"),
    ),
)
# Files that take long come early, for all wait for what is begun last.
FAST = ("tests/properties", "tests/golden", "tests/fuzz", "tests/soak", "tests/contracts", "tests/unit")
QUICK, DEEP = "--hypothesis-profile=quick", "--hypothesis-profile=deep"
HELM_PROGRAMS = tool("python", "-m", "support.cluster.kube_tools")

TIERS = (
    STATIC,
    Tier("fast", (pytest(*FAST, processes=2),)),
    # Kafka's Java classes live in the test process: a process of its own, without the threads of clients.
    Tier("peers", (pytest("tests/peers", coverage=False),)),
    # Its Java counts no lines of ours.
    Tier("spark", (pytest("tests/spark", "--timeout=900"),)),
    # The last of what computes: the more of Kubernetes is built by then.
    Tier(
        "helm",
        (
            pytest("tests/helm", "-m", "not api_server", "--timeout=1800", coverage=False),
            pytest("tests/helm", "-m", "api_server", "--timeout=1800", coverage=False),
        ),
        beforehand=HELM_PROGRAMS,
    ),
    # One run of the demo under a real Prometheus, on which alerts and boards are proved together; the rest computes.
    Tier(
        "live",
        (
            pytest("tests/alerts", "tests/dashboards", "-m", "live", lane=WAITING, slots=2, coverage=False),
            pytest("tests/alerts", "tests/dashboards", "-m", "not live", coverage=False),
        ),
    ),
    Tier(
        "integration",
        (
            # What has to keep up with a timetable or a model.
            pytest("tests/integration", "-m", "timed", lane=WAITING, slots=2),
            # Each process has a broker of its own.
            pytest("tests/integration", "-m", "not timed", lane=WAITING, processes=2),
        ),
    ),
)

LOOP = (
    STATIC,
    Tier("fast", (pytest(*FAST, QUICK, processes=2, coverage=False),)),
    Tier("peers", (pytest("tests/peers", QUICK, coverage=False),)),
    Tier("helm", (pytest("tests/helm", "-m", "not api_server", "--timeout=1800", coverage=False),), HELM_PROGRAMS),
    Tier("integration", (pytest("tests/integration", "-m", "end_to_end", lane=WAITING, coverage=False),)),
)
"""Tiers of ``--fast``: the same tests, without those that need minutes or a control plane, and fewer examples."""

ON_REQUEST = (
    # Soaks of many minutes, and many more examples of each rule.
    Tier(
        "slow",
        (
            pytest("tests/slow", "--timeout=3600", lane=ALONE, coverage=False),
            pytest("tests/properties", DEEP, "--timeout=3600", lane=ALONE, coverage=False),
            pytest("tests/peers", DEEP, "--timeout=3600", lane=ALONE, coverage=False),
        ),
    ),
    # A real node: root on Linux, packages of the system, and all the rest of Kubernetes to build.
    Tier("node", (pytest("tests/node", "--timeout=3600", lane=ALONE, coverage=False),)),
)
"""Apart from what every change must pass."""


@dataclass(frozen=True)
class Row:
    """What is reported of a tier in the end: minutes from its first command's start to its last one's end.

    Tiers overlap. ``cpu_minutes`` is the processor time that each took; Spark's Java, which outlives its tests, is not
    in it.
    """

    tier: str
    minutes: float
    cpu_minutes: float
    passed: bool


def main() -> int:
    """Run the chosen tiers and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fast", action="store_true", help="what shall take no more than minutes, without coverage")
    parser.add_argument("--tier", action="append", choices=[tier.name for tier in (*TIERS, *ON_REQUEST)])
    parser.add_argument("pytest", nargs="*", help="further arguments for every pytest tier")
    options = parser.parse_args()
    usual = LOOP if options.fast else TIERS
    chosen = [tier for tier in (*usual, *ON_REQUEST) if tier.name in options.tier] if options.tier else list(usual)

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
            for tiers in apart(chosen):
                rows += run(tiers, options.pytest, environment, clock)
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
    print("\ntier            minutes  CPU minutes")
    for row in rows:
        print(f"{row.tier:<15} {row.minutes:7.1f}  {row.cpu_minutes:11.1f}  {'passed' if row.passed else 'FAILED'}")
    print(f"{'in all':<15} {minutes:7.1f}  {sum(row.cpu_minutes for row in rows):11.1f}")
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
    """The tiers that run at the same time: all together, but each that is to be alone for itself."""
    together = [tier for tier in tiers if not is_alone(tier)]
    yield from ([together] if together else [])
    yield from ([tier] for tier in tiers if is_alone(tier))


def is_alone(tier: Tier) -> bool:
    """Whether nothing may run beside it."""
    return any(command.lane == ALONE for command in tier.commands)


def run(tiers: list[Tier], extra: list[str], environment: dict[str, str], clock: Clock) -> list[Row]:
    """Run all commands of ``tiers``, as many at once as their lanes have room for."""
    with tempfile.TemporaryDirectory() as claims:
        by_tier = {tier.name: list(jobs_of(tier, extra, environment, Path(claims))) for tier in tiers}
        results = iter(run_jobs([job for jobs in by_tier.values() for job in jobs], clock))
    rows = []
    for name, jobs in by_tier.items():
        mine = list(islice(results, len(jobs)))
        seconds = max(each.ended for each in mine) - min(each.began for each in mine)
        passed = all(each.status in good_ends(extra) for each in mine)
        rows.append(Row(name, seconds / 60, sum(each.cpu for each in mine) / 60, passed))
    return rows


def jobs_of(tier: Tier, extra: list[str], environment: dict[str, str], claims: Path) -> Iterator[Job]:
    """A tier's commands as they are run; each counts what it covers in a file of its own, for they run side by side."""
    numbers = count()
    for command in tier.commands:
        arguments = (*command.arguments, *extra) if command.pytest else command.arguments
        if command.processes > 1:
            folder = claims / f"{tier.name}-{tier.commands.index(command)}"
            folder.mkdir()
            arguments = (*arguments, "--share-by", str(folder), "-o", "console_output_style=classic")
        for process in range(command.processes):
            name = f"{tier.name}: {command.name}"
            if command.processes > 1:
                name += f" ({process + 1} of {command.processes} processes)"
            data = {"COVERAGE_FILE": str(ROOT / f".coverage.{tier.name}-{next(numbers)}")}
            yield Job(name, arguments, {**environment, **data}, command.lane, command.slots)


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
