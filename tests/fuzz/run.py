"""``make fuzz``: runs every parser of external bytes with damaged inputs for a given time.

``make fuzz ARGS="--seconds 300"`` divides the time among all targets, run in parallel on all processors, or ``--at-once
N``; ``--target NAME`` chooses, ``--inputs N`` ends each earlier, ``--replay FILE`` gives one target one input. The exit
code is 0 only without faults. Commit the input of a fault to ``tests/fuzz/corpus/TARGET`` with the fix: it is then
tried first, and with every ``make test``.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS.parent)]

from fuzz.engines import HAS_ATHERIS  # noqa: E402
from fuzz.limits import HANGING_S, taken  # noqa: E402
from rebalance_agent.clock import Clock, SystemClock  # noqa: E402

ENDLESS = 2**31 - 1
SHOWN_MAX = 4_000
"""Characters of a fault's output that are shown: its traceback is at the end."""

_STATS = {
    "inputs": re.compile(r"^stat::number_of_executed_units: +(\d+)", re.MULTILINE),
    "peak_mib": re.compile(r"^stat::peak_rss_mb: +(\d+)", re.MULTILINE),
}


@dataclass(frozen=True)
class Done:
    """The result of one target. ``fault``: the end of its output; empty on success."""

    name: str
    inputs: int
    seconds: float
    peak_mib: float
    fault: str = ""


def main() -> int:
    """Fuzz the chosen targets and report."""
    parser = argparse.ArgumentParser(
        "make fuzz", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=300.0, help="for all together (default 300)")
    parser.add_argument("--target", action="append", metavar="NAME", help="only this one; may be repeated")
    parser.add_argument("--inputs", type=int, default=ENDLESS, help="most inputs of each")
    parser.add_argument("--at-once", type=int, metavar="N", help="targets side by side (default: one a processor)")
    parser.add_argument("--seed", type=int, default=1, help="what damage follows from (default 1)")
    parser.add_argument("--engine", choices=("atheris", "plain"), help="default: atheris, where it is installed")
    parser.add_argument("--replay", type=Path, metavar="FILE", help="give this input to the one --target")
    options = parser.parse_args()
    from fuzz.targets import TARGETS  # noqa: PLC0415 - the processes that fuzz import them under atheris

    if unknown := set(options.target or ()) - TARGETS.keys():
        parser.error(f"there is no target {min(unknown)}; there are {', '.join(TARGETS)}")
    chosen = options.target or list(TARGETS)
    if options.replay and len(chosen) != 1:
        parser.error("--replay: name the one --target that gets it")
    if options.replay and not options.replay.is_file():
        parser.error(f"--replay: there is no file {options.replay}")
    if options.replay:
        taken(TARGETS[chosen[0]], options.replay.read_bytes(), weigh=True)
        print(f"{chosen[0]}: {options.replay} is well")
        return 0
    if options.engine is None:
        options.engine = "atheris" if HAS_ATHERIS else "plain"
        if not HAS_ATHERIS and os.environ.get("CI") == "true":
            print("atheris is not installed, and under CI=true it must be; or say --engine plain", file=sys.stderr)
            return 1
    at_once = min(options.at_once or os.cpu_count() or 1, len(chosen))
    seconds = max(1.0, options.seconds * at_once / len(chosen))
    folder = Path(tempfile.mkdtemp(prefix="rebalance-agent-fuzz-"))
    print(f"{len(chosen)} targets, {seconds:.0f} s each, {at_once} at once, seed {options.seed}, {options.engine}")
    with ThreadPoolExecutor(at_once) as pool:
        every = pool.map(lambda name: _fuzzed(name, folder, seconds, options, SystemClock()), chosen)
        return _reported(list(every), folder)


def _fuzzed(name: str, folder: Path, seconds: float, options: argparse.Namespace, clock: Clock) -> Done:
    own = folder / name
    own.mkdir()
    path = os.pathsep.join([str(TESTS), str(TESTS.parent), os.environ.get("PYTHONPATH", "")])
    given = (name, str(own), str(seconds), str(options.inputs), str(options.seed), options.engine)
    begun = clock.monotonic()
    text, ended = _run([sys.executable, "-m", "fuzz.engines", *given], path, seconds + HANGING_S * 2)
    stats = _stats(text)
    inputs = int(stats["inputs"])
    ended = ended or ("" if inputs else "ended without having run an input")
    fault = f"{ended}\n{text[-SHOWN_MAX:]}" if ended else ""
    result = Done(name, inputs, clock.monotonic() - begun, stats["peak_mib"], fault)
    print(f"{name}: {result.inputs:,} inputs{', A FAULT' if fault else ''}", flush=True)
    return result


def _run(command: list[str], path: str, seconds: float) -> tuple[str, str]:
    """The output, and how the process ended if it failed."""
    try:
        done = subprocess.run(
            command,
            env={**os.environ, "PYTHONPATH": path},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired as error:  # if not even an alarm interrupts it
        return (error.stdout or b"").decode(errors="replace"), f"did not end within {seconds:.0f} s"
    return done.stdout.decode(errors="replace"), f"ended with {done.returncode}" if done.returncode else ""


def _stats(text: str) -> dict[str, float]:
    last = text.strip().rpartition("\n")[2]
    if last.startswith('{"inputs"'):
        return dict(json.loads(last))
    found = {name: pattern.search(text) for name, pattern in _STATS.items()}
    return {name: float(each[1]) if each else 0 for name, each in found.items()}


def _reported(every: list[Done], folder: Path) -> int:
    print("\n| target | inputs | inputs / s | peak MiB | |\n| --- | --- | --- | --- | --- |")
    for each in every:
        ending = "FAULT" if each.fault else "well"
        print(f"| {each.name} | {each.inputs:,} | {each.inputs / each.seconds:,.0f} | {each.peak_mib:.0f} | {ending} |")
    print(f"| in all | {sum(each.inputs for each in every):,} | | | |")
    for each in every:
        if each.fault:
            inputs = " ".join(map(str, sorted((folder / each.name).glob("fault-*"))))
            print(f"\n{each.name}: {each.fault}\ninput: {inputs}")
    if not (faulty := any(each.fault for each in every)):
        shutil.rmtree(folder, ignore_errors=True)
    return faulty


if __name__ == "__main__":
    sys.exit(main())
