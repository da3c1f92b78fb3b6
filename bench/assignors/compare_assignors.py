"""Measures the CPU time of one call of our assignors and of Kafka's, franz-go's, kafka-python's and aiokafka's.

``python -m bench assignors`` prints a table with a row for each case (`assignor_cases`), strategy and operation: the
median of repeated calls for each client, and our time divided by other times. Two smaller tables follow: growth from U1
to U5, and our peak memory. Each client runs in its own process.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import psutil

from bench.assignors.assignor_cases import CASES, OPERATIONS, write
from bench.measure import table

STRATEGIES = ("sticky", "range", "roundrobin")
FRANZ_GO = Path(__file__).parent / "franz_go"
OURS_READING = "ours, of user data"
"""Our assignor in a group of Java members: their owned partitions are in user data, which the call decodes."""

OURS = ("ours", OURS_READING)

WARM_UP_S = 3.0
"""Seconds of warm-up calls after which Java's compiler has optimised the code."""


@dataclass(frozen=True, slots=True)
class Client:
    """A measured client: the command line for a strategy and a case's file, and the CPU seconds that calls may take."""

    name: str
    command: Callable[[str, Path], list[str]]
    limit_s: float


@dataclass(frozen=True, slots=True)
class Measured:
    """CPU seconds of a call (None if it failed or reached its limit), text for the table, and peak memory in MiB."""

    seconds: float | None
    text: str
    rss_mib: float = 0.0


def main(arguments: Sequence[str] = ()) -> None:
    """Print the tables."""
    options = _options(arguments)
    with tempfile.TemporaryDirectory() as folder:
        clients, absent = _clients(options, Path(folder))
        notes = dict.fromkeys(absent)
        names = [client.name for client in clients]
        ratios = ["ours / fastest peer", "ours / Java"]
        rows, results = [], {}
        for case in options.cases:
            paths = write(Path(folder), case)
            for strategy, operation in _work(options.strategies):
                found = {}
                for client in clients:
                    if client.name == OURS_READING and operation == "first":
                        found[client.name] = Measured(None, "-")  # this client has no such call
                        continue
                    found[client.name] = _measure(client, strategy, paths[operation], notes)
                results[case, strategy, operation] = found
                rows.append(
                    (case, strategy, operation, *(found[name].text for name in names), *_ratios(found, len(names)))
                )
                _progress(rows[-1])
            for path in paths.values():
                path.unlink()
    table(["case", "strategy", "operation", *names, *(ratios if len(names) > len(OURS) else [])], rows)
    print()
    for case in options.cases:
        print(f"{case}: {CASES[case]}  ")
    for note in notes:
        print(f"{note}  ")
    _growth(results, names)
    _memory(results)


def _options(arguments: Sequence[str]) -> argparse.Namespace:
    def names(known: Sequence[str], text: str) -> list[str]:
        chosen = text.split(",")
        if unknown := [name for name in chosen if name not in known]:
            raise argparse.ArgumentTypeError(f"there is no {unknown[0]!r}; choose from {','.join(known)}")
        return chosen

    cases, strategies = list(CASES), list(STRATEGIES)
    parser = argparse.ArgumentParser(prog="python -m bench assignors", description=__doc__)
    parser.add_argument("--cases", type=partial(names, cases), default=cases, help=f"some of {','.join(cases)}")
    parser.add_argument(
        "--strategies", type=partial(names, strategies), default=strategies, help=f"some of {','.join(strategies)}"
    )
    parser.add_argument("--calls", type=int, default=15, help="calls to take the median of, at most (%(default)s)")
    parser.add_argument("--seconds", type=float, default=3.0, help="no further call after this time (%(default)s)")
    parser.add_argument("--limit", type=float, default=60.0, help="CPU seconds that a peer may take (%(default)s)")
    parser.add_argument("--limit-python", type=float, default=20.0, help="the same for the Python peers (%(default)s)")
    parser.add_argument("--ours-only", action="store_true", help="no peers")
    return parser.parse_args(arguments)


def _clients(options: argparse.Namespace, folder: Path) -> tuple[list[Client], list[str]]:
    """Return the clients that are available here, ours first, and the reasons why others are missing."""
    budget = [f"--calls={options.calls}", f"--seconds={options.seconds}"]
    here = [sys.executable, "-W", "ignore", "-m", "bench.assignors.assignor_calls"]
    clients = [
        Client("ours", partial(_python, [*here, "ours"], budget), limit_s=600.0),
        Client(OURS_READING, partial(_python, [*here, "ours-user-data"], budget), limit_s=600.0),
    ]
    absent: list[str] = []
    if options.ours_only:
        return clients, absent
    if find_spec("jpype") is None:
        absent.append("Java was not measured: no module jpype is installed.")
    else:
        command = partial(_python, [*here, "java"], [*budget, f"--warm-up={WARM_UP_S}"])
        clients.append(Client("Java", command, options.limit))
    binary, reason = _franz_go(folder)
    if binary is None:
        absent.append(f"franz-go was not measured: {reason}.")
    else:
        clients.append(Client("franz-go", partial(_go, binary, options), options.limit))
    for name, module in (("kafka-python", "kafka"), ("aiokafka", "aiokafka")):
        if find_spec(module) is None:
            absent.append(f"{name} was not measured: no module {module} is installed.")
        else:
            clients.append(Client(name, partial(_python, [*here, name], budget), options.limit_python))
    return clients, absent


def _python(start: list[str], flags: list[str], strategy: str, path: Path) -> list[str]:
    return [*start, strategy, str(path), *flags]


def _go(binary: str, options: argparse.Namespace, strategy: str, path: Path) -> list[str]:
    return [binary, strategy, str(path), str(options.calls), str(options.seconds)]


def _franz_go(folder: Path) -> tuple[str | None, str]:
    """Build our program around franz-go's balancers; return its path, or None and the reason."""
    go = which("go")
    if go is None:
        return None, "no go on the PATH"
    binary = str(folder / "franz_go")
    built = subprocess.run([go, "build", "-o", binary, "."], cwd=FRANZ_GO, capture_output=True, text=True, check=False)
    return (binary, "") if built.returncode == 0 else (None, f"go build: {_last_line(built.stderr)}")


def _work(strategies: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield pairs of strategy and operation; range and roundrobin ignore owned partitions, and have only ``first``."""
    for strategy in strategies:
        for operation in OPERATIONS if strategy == "sticky" else OPERATIONS[:1]:
            yield strategy, operation


def _measure(client: Client, strategy: str, path: Path, notes: dict[str, None]) -> Measured:
    """Run one client on one file. The client's CPU limit applies to its calls, not to the preparation before them."""
    command = client.command(strategy, path)
    process = psutil.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    ready = process.stdout.readline() == "ready\n"
    prepared, late = _cpu_s(process), False
    while True:
        try:
            output, errors = process.communicate(timeout=0.2)
            break
        except subprocess.TimeoutExpired:
            if not late and _cpu_s(process) - prepared > client.limit_s:
                late = True
                process.kill()
    if ready and output and (late or process.returncode == 0):
        # If a later call was stopped, the earlier calls count; if the first call was stopped, the warm-up calls count.
        lines = output.split()
        warm = [int(line) for line in lines if line.isdigit()]
        seconds = statistics.median(warm or [int(line[1:]) for line in lines if line[0] == "~"]) / 1e9
        rss = [float(line[1:]) for line in lines if line[0] == "="]
        return Measured(seconds, _duration(seconds), *rss)
    if late:
        return Measured(None, f"> {client.limit_s:.0f} s")
    notes[f"{client.name} failed on {path.name} {strategy}: {_last_line(errors)}"] = None
    return Measured(None, "failed")


def _cpu_s(process: psutil.Popen) -> float:
    try:
        times = process.cpu_times()
    except psutil.Error:  # it has already ended
        return 0.0
    return times.user + times.system


def _last_line(text: str) -> str:
    return (text.strip().splitlines() or ["without output"])[-1][:300]


def _ratios(found: dict[str, Measured], clients: int) -> tuple[str, ...]:
    """Return the ratios of our time to the fastest peer's and to Java's. A peer at its limit is not the fastest."""
    if clients <= len(OURS):
        return ()
    ours = found["ours"].seconds
    peers = [each.seconds for name, each in found.items() if name not in OURS and each.seconds is not None]
    java = found["Java"].seconds if "Java" in found else None
    if ours is None:
        return "-", "-"
    return f"{ours / min(peers):.2f}" if peers else "-", f"{ours / java:.2f}" if java else "-"


def _growth(results: dict[tuple[str, str, str], dict[str, Measured]], names: Sequence[str]) -> None:
    """Print the growth of the time from U1 to U5: 100 times the partitions, 20 times the members.

    Together, the members of U5 subscribe to 200 times as many topics.
    """
    rows = []
    for (case, strategy, operation), small in results.items():
        large = results.get(("U5", strategy, operation))
        if case == "U1" and large:
            pairs = [(small[name].seconds, large[name].seconds) for name in names]
            rows.append((strategy, operation, *(f"x {b / a:.0f}" if a and b else "-" for a, b in pairs)))
    if rows:
        print("\nGrowth of the time from U1 to U5, which has 100 times the partitions and 20 times the members:\n")
        table(["strategy", "operation", *names], rows)


def _memory(results: dict[tuple[str, str, str], dict[str, Measured]]) -> None:
    """Print the peak memory of our process, which includes the decoded groups of its calls."""
    rows = [
        (strategy, operation, f"{found['ours'].rss_mib:.0f} MiB")
        for (case, strategy, operation), found in results.items()
        if case == "U5"
    ]
    if rows:
        print("\nOurs, peak memory of the process that measured U5, interpreter and input included:\n")
        table(["strategy", "operation", "peak memory"], rows)


def _duration(seconds: float) -> str:
    return f"{seconds:.2f} s" if seconds >= 1 else f"{seconds * 1e3:.3g} ms"


def _progress(row: Sequence[object]) -> None:
    print("  ".join(map(str, row)), file=sys.stderr, flush=True)
