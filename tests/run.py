"""``make test``: runs the test tiers; reports the duration of each, and the skipped tests with their reasons.

``python tests/run.py [--fast] [--tier NAME]... [-- PYTEST ARGUMENTS]``. The exit code is 0 only if every tier that ran
has passed. Without ``--tier`` all tiers run except those in `ON_REQUEST` (``make test-slow`` requests one by name).
``--fast`` (``make test-fast``) is for quick checks during development: no coverage, no Spark, and one end-to-end path
with a broker. With ``CI=true`` a missing tool is an error; otherwise the tests that need it are skipped and listed at
the end.

Two lanes use the processors. Tests with real sockets and real time mostly wait: they run at normal priority, three
processes at a time, or one if they follow a schedule. Tests that compute run beside them at a lower priority.
Processes of one tier share its test files (`support.runner.shares`), so that they end at about the same time. The
output of a command appears when it has ended. Programs that a tier needs are built in the background from the start,
at the priority of tests that compute.
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
from dataclasses import dataclass, replace
from itertools import count, islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from rebalance_agent.clock import Clock, SystemClock
from rebalance_agent.testing.kafka.kafka_versions import VARIABLE, WITH_TOOLS
from support.runner import tools
from support.runner.background import in_background
from support.runner.jobs import Job, Lane, run_jobs

ROOT = Path(__file__).parent.parent
BIN = Path(sys.executable).parent
PYTEST = (str(BIN / "python"), "-m", "pytest", "-q", *(["--color=yes"] if sys.stdout.isatty() else []))
NO_TESTS = 5  # pytest's exit status if no test was selected
MEMORY = Path("/dev/shm")  # Linux's file system in memory
MEMORY_BYTES_MIN = 8 << 30  # brokers, Spark and their files need about four gigabytes together

GO = {"GOGC": "400", "GOMEMLIMIT": "2GiB"}
"""Settings of programs in Go: their garbage collector waits until five times the memory in use is reached, up to a
limit. Compiling Kubernetes takes a fifth less processor time, and evaluating the alerts' rules a quarter less."""

COMPUTING = Lane(1 + (os.cpu_count() or 1), niceness=3)
"""Commands that compute, without time limits of their own: one more than processors, since Spark, the longest, waits
half of its time. Beside two busy loops, niceness 10 leaves them a tenth of a processor each, and 3 a third."""

WAITING = Lane(3)
"""Commands that mostly wait for brokers, timers and processes."""

ALONE = Lane(1)
"""Commands that run alone, in tiers that are requested by name."""


@dataclass(frozen=True)
class Command:
    """A command of a tier; ``pytest``: whether it accepts pytest's arguments.

    ``processes``: number of parallel processes, which share the test files. ``slots``: the lane's slots that each uses.
    ``kafka``: version of the embedded Kafka; the environment's or the default by default.
    """

    name: str
    arguments: tuple[str, ...]
    lane: Lane = COMPUTING
    pytest: bool = False
    processes: int = 1
    slots: int = 1
    kafka: str | None = None


@dataclass(frozen=True)
class Tier:
    """Commands that pass or fail together.

    ``beforehand``: a command that builds programs in advance, which the tests would otherwise build, in minutes.
    """

    name: str
    commands: tuple[Command, ...]
    beforehand: Command | None = None


def tool(*arguments: str) -> Command:
    """A command that checks the source tree."""
    return Command(" ".join(arguments), (str(BIN / arguments[0]), *arguments[1:]))


def pytest(
    *arguments: str, lane: Lane = COMPUTING, processes: int = 1, slots: int = 1, coverage: bool = False
) -> Command:
    """A pytest command. Coverage makes pure Python two to three times slower.

    Tests marked ``no_cover`` are not counted, because other tests cover the same lines.
    """
    counting = ("--cov", "--cov-report=") if coverage else ()
    name = " ".join(("pytest", *arguments))
    return Command(name, (*PYTEST, *counting, *arguments), lane, pytest=True, processes=processes, slots=slots)


def on(version: str, command: Command) -> Command:
    """``command`` on this version of the embedded Kafka."""
    return replace(command, name=f"{command.name} (Kafka {version})", kafka=version)


STATIC = Tier(
    "static",
    (
        tool("mypy"),
        tool("ruff", "check", "."),
        tool("ruff", "format", "--check", "."),
        tool("lint-imports", "--no-cache"),
    ),
)
# Slow files come first: a slow file that starts last would delay the end of the tier.
UNCOUNTED = ("tests/properties", "tests/fuzz", "tests/soak", "tests/contracts")
"""Tests without coverage: they try many examples of code that unit tests execute as well, or start processes."""
COUNTED = ("tests/golden", "tests/unit")
FAST = (*UNCOUNTED, *COUNTED)
SPARK = tuple(f"tests/spark/{folder}" for folder in ("tables", "report", "commands", "ingest", "session", "publishing"))
QUICK, DEEP = "--hypothesis-profile=quick", "--hypothesis-profile=deep"
CORE = tuple(f"tests/integration/{folder}" for folder in ("observer/offsets_topic", "observer/tracking", "gateway"))
"""Tests of what depends on the broker: records of all types of groups, rebalances of real clients, seats."""
HELM_PROGRAMS = tool("python", "-m", "support.cluster.kube_tools")

TIERS = (
    STATIC,
    # First, because its tests need most processor time.
    Tier("spark", (pytest(*SPARK, processes=2),)),
    # A second process for the counted tests would start when Spark's have ended, and collect for what is left.
    Tier("fast", (pytest(*COUNTED, coverage=True), pytest(*UNCOUNTED, processes=2))),
    # Kafka's Java classes are loaded into the test process, so it must not have the threads of clients.
    Tier("peers", (pytest("tests/peers"),)),
    # The last of the computing tiers, so that most of Kubernetes is built before it starts.
    Tier(
        "helm",
        (
            pytest("tests/helm", "-m", "not api_server", "--timeout=3600"),
            pytest("tests/helm", "-m", "api_server", "--timeout=3600"),
        ),
        beforehand=HELM_PROGRAMS,
    ),
    # One run of the demo under a real Prometheus tests alerts and boards together; the other tests compute.
    Tier(
        "live",
        (
            pytest("tests/alerts", "tests/dashboards", "-m", "live", lane=WAITING, slots=3),
            pytest("tests/alerts", "tests/dashboards", "-m", "not live"),
        ),
    ),
    Tier(
        "integration",
        (
            # Tests that follow a schedule or a model.
            pytest("tests/integration", "-m", "timed", lane=WAITING, slots=3, coverage=True),
            # Each process has a broker of its own.
            pytest("tests/integration", "-m", "not timed", lane=WAITING, processes=3),
        ),
    ),
)

LOOP = (
    STATIC,
    Tier("fast", (pytest(*FAST, QUICK, processes=2),)),
    Tier("peers", (pytest("tests/peers", QUICK),)),
    Tier("helm", (pytest("tests/helm", "-m", "not api_server", "--timeout=3600"),), HELM_PROGRAMS),
    Tier("integration", (pytest("tests/integration", "-m", "end_to_end", lane=WAITING),)),
)
"""Tiers of ``--fast``: without tests that need minutes or a control plane, and with fewer examples."""

ON_REQUEST = (
    # Soaks of many minutes, and many more examples of each rule.
    Tier(
        "slow",
        (
            pytest("tests/slow", "--timeout=3600", lane=ALONE),
            pytest("tests/properties", DEEP, "--timeout=3600", lane=ALONE),
            pytest("tests/peers", DEEP, "--timeout=3600", lane=ALONE),
        ),
    ),
    # Java's compiler and older Kafka clients are downloaded at first.
    Tier("java", (pytest("tests/java", "--timeout=600", lane=ALONE),)),
    # Other brokers are downloaded at first: a smoke test of the older ones, and the core on those with Kafka's tools.
    Tier(
        "versions",
        (
            pytest("tests/versions", "--timeout=600", lane=ALONE),
            *(on(version, pytest(*CORE, "--timeout=600", lane=ALONE)) for version in WITH_TOOLS),
        ),
    ),
    # A real node needs root on Linux, system packages, and a build of all Kubernetes programs.
    Tier("node", (pytest("tests/node", "--timeout=3600", lane=ALONE),)),
)
"""Tiers that run only if they are requested by name."""


@dataclass(frozen=True)
class Row:
    """The result of a tier. ``minutes``: from the start of its first command to the end of its last one.

    Tiers overlap. ``cpu_minutes``: processor time of its commands, without the programs built in the background.
    ``failures``: pytest's lines about its failed tests.
    """

    tier: str
    minutes: float
    cpu_minutes: float
    passed: bool
    failures: tuple[str, ...] = ()


def main() -> int:
    """Run the chosen tiers and report."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--fast", action="store_true", help="a quick check in minutes, without coverage")
    parser.add_argument("--tier", action="append", choices=[tier.name for tier in (*TIERS, *ON_REQUEST)])
    parser.add_argument("pytest", nargs="*", help="further arguments for every pytest tier")
    options = parser.parse_args()
    usual = LOOP if options.fast else TIERS
    chosen = [tier for tier in (*usual, *ON_REQUEST) if tier.name in options.tier] if options.tier else list(usual)

    os.chdir(ROOT)
    for stale in ROOT.glob(".coverage*"):
        stale.unlink()
    environment = environment_of_commands(os.environ)
    missing = tools.provide(environment)
    if missing and os.environ.get("CI") == "true":
        print(*missing, sep="\n", file=sys.stderr)
        return 1

    scratch = in_memory()
    if scratch:
        environment["TMPDIR"] = scratch

    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that the tests end, too
    # A shell that starts this in the background ignores SIGINT, and the programs under test would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    clock = SystemClock()
    start = clock.monotonic()
    rows: list[Row] = []
    beforehand = {tier.name: tier.beforehand.arguments for tier in chosen if tier.beforehand}
    try:
        with in_background(beforehand.values(), {**environment, "PYTHONPATH": str(ROOT / "tests")}) as building:
            for tiers in concurrent_tiers(chosen):
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
    report(rows, minutes, missing, None if passed else scratch)
    return 0 if passed else 1


def report(rows: Sequence[Row], minutes: float, missing: Sequence[str], scratch: str | None) -> None:
    """Print the tiers' results, what did not run, the files left in ``scratch``, and the failed tests."""
    print("\ntier            minutes  CPU minutes")
    for row in rows:
        print(f"{row.tier:<15} {row.minutes:7.1f}  {row.cpu_minutes:11.1f}  {'passed' if row.passed else 'FAILED'}")
    print(f"{'total':<15} {minutes:7.1f}  {sum(row.cpu_minutes for row in rows):11.1f}")
    if missing:
        print("\nnot run:", *missing, sep="\n  ")
    if scratch:
        print(f"\nthe tests' files are in {scratch}; they use memory until you remove them")
    if failures := [failure for row in rows for failure in row.failures]:  # last: CI may show only the end of an output
        print("\nfailed:", *failures, sep="\n  ")


def not_built(beforehand: Mapping[str, Sequence[str]], statuses: Sequence[int | None]) -> Iterator[str]:
    """A message for each tier whose ``beforehand`` command failed; a status of None: it still runs."""
    for (name, command), status in zip(beforehand.items(), statuses, strict=True):
        if status:
            yield f"{name}: tests whose programs cannot be built. See: PYTHONPATH=tests {' '.join(command)}"


def environment_of_commands(environment: Mapping[str, str]) -> dict[str, str]:
    """The variables of every command: ``environment``, our package on the path, and `GO` unless it has other values.

    Compiled modules are kept: hundreds of processes of a run import the same ones. If ``PYTHONDONTWRITEBYTECODE`` is
    set, as images of Python often have it, each compiles them again: half a second of a command's start, and half of a
    collection by pytest.
    """
    kept = {name: value for name, value in environment.items() if name != "PYTHONDONTWRITEBYTECODE"}
    return GO | kept | {"PYTHONPATH": str(ROOT / "agent")}


def in_memory() -> str | None:
    """Create a folder for the tests' files in memory, if enough is free; None: the tests use the disk.

    Brokers wait for the disk at every sync. A shared or limited disk can delay them until all sessions time out: then
    tests would fail although nothing is wrong.
    """
    try:
        room = min(shutil.disk_usage(MEMORY).free, os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
        return tempfile.mkdtemp(prefix="rebalance-agent-tests-", dir=MEMORY) if room > MEMORY_BYTES_MIN else None
    except OSError:
        return None


def concurrent_tiers(tiers: list[Tier]) -> Iterator[list[Tier]]:
    """Lists of tiers that run at the same time; a tier of the lane `ALONE` is a list of its own."""
    together = [tier for tier in tiers if not is_alone(tier)]
    yield from ([together] if together else [])
    yield from ([tier] for tier in tiers if is_alone(tier))


def is_alone(tier: Tier) -> bool:
    """Whether the tier must run alone."""
    return any(command.lane == ALONE for command in tier.commands)


def run(tiers: list[Tier], extra: list[str], environment: dict[str, str], clock: Clock) -> list[Row]:
    """Run all commands of ``tiers``, in parallel as far as their lanes allow."""
    with tempfile.TemporaryDirectory() as claims:
        by_tier = {tier.name: list(jobs_of(tier, extra, environment, Path(claims))) for tier in tiers}
        results = iter(run_jobs([job for jobs in by_tier.values() for job in jobs], clock))
    rows = []
    for name, jobs in by_tier.items():
        mine = list(islice(results, len(jobs)))
        seconds = max(each.ended for each in mine) - min(each.began for each in mine)
        passed = all(each.status in good_ends(extra) for each in mine)
        failures = tuple(line for each in mine for line in each.failures if not passed)
        rows.append(Row(name, seconds / 60, sum(each.cpu for each in mine) / 60, passed, failures))
    return rows


def jobs_of(tier: Tier, extra: list[str], environment: dict[str, str], claims: Path) -> Iterator[Job]:
    """A tier's commands as jobs; each has its own coverage file, because they run in parallel."""
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
            kafka = {VARIABLE: command.kafka} if command.kafka else {}
            yield Job(name, arguments, {**environment, **data, **kafka}, command.lane, command.slots)


def good_ends(extra: list[str]) -> set[int]:
    """Exit statuses of success; with ``extra`` arguments a command may select no test."""
    return {0, NO_TESTS} if extra else {0}


def report_coverage(environment: dict[str, str]) -> None:
    """Print the coverage of the tests that count it, together; it does not affect the exit code."""
    if any(ROOT.glob(".coverage.*")):
        print("\ncoverage of the unit, golden and timed tests:", flush=True)
        for arguments in (("combine", "--quiet"), ("report", "--skip-covered", "--precision=0")):
            subprocess.run([str(BIN / "python"), "-m", "coverage", *arguments], env=environment, check=False)


if __name__ == "__main__":
    sys.exit(main())
