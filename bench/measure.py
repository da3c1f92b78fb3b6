"""Takes and prints measurements: CPU and peak memory of a process, medians, Markdown tables."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterable, Sequence
from time import perf_counter, process_time
from typing import Any


def in_process(module: str, *arguments: str) -> dict[str, Any]:
    """Run ``python -m module arguments``; return its CPU seconds, its duration, and the JSON of its last line."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    start = perf_counter()
    done = subprocess.run([sys.executable, "-m", module, *arguments], capture_output=True, text=True, check=False)
    wall = perf_counter() - start
    if done.returncode != 0:
        raise SystemExit(f"{module} failed:\n{done.stderr[-2000:]}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    own = json.loads(done.stdout.strip().splitlines()[-1])
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {"process_cpu_s": cpu, "process_wall_s": wall, **own}


def usage() -> dict[str, float]:
    """Return the CPU seconds of this process so far and its peak memory in MiB; a child process prints them."""
    return {"cpu_s": process_time(), "rss_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}


def cpu_each(call: Callable[[], object], rounds: int = 7, calls: int = 200) -> float:
    """Return the CPU microseconds of one ``call``: the median over ``rounds``, each with ``calls`` calls."""
    times = []
    for _ in range(rounds):
        start = process_time()
        for _ in range(calls):
            call()
        times.append((process_time() - start) / calls * 1e6)
    return statistics.median(times)


def percentile(values: Sequence[float], share: float) -> float:
    """Return the value below which this ``share`` (0 to 1) of ``values`` lies."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def table(header: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a Markdown table; each row is printed at once, so that an interruption loses no results."""
    print("| " + " | ".join(header) + " |")
    print("|" + " --- |" * len(header), flush=True)
    for row in rows:
        cells = (f"{cell:.3g}" if isinstance(cell, float) else str(cell) for cell in row)
        print("| " + " | ".join(cells) + " |", flush=True)


def say(text: str) -> None:
    """Print a line about the progress to standard error."""
    print(f"  {text}", file=sys.stderr, flush=True)
