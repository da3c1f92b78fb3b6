"""Measures CPU and memory of this process and all its descendants, such as Spark's Java and its Python workers."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from time import perf_counter
from typing import Any

import psutil

EVERY_S = 0.5
"""Shortest time (seconds) between samples of memory. A peak between them is missed."""

SHARE_MAX = 1 / 20
"""Maximum share of a core for sampling. A sample reads the page tables of gigabytes, and blocks the sampled process."""


@dataclass(frozen=True, slots=True)
class Took:
    """``count`` items in ``seconds``, with the CPU seconds ``cpu`` of all processes."""

    count: int
    seconds: float
    cpu: float


def took(work: Callable[[], int]) -> Took:
    """Measure ``work``, which returns its number of items."""
    start, cpu = perf_counter(), cpu_s()
    count = work()
    return Took(count, perf_counter() - start, cpu_s() - cpu)


def cpu_s(root: psutil.Process | None = None) -> float:
    """Return the CPU seconds of a process and all its descendants; an ended one counts with its last sample.

    The system's own sum for ended children lacks Spark's workers, because their parent does not wait for them.
    """
    root = root or psutil.Process()
    used = _used.setdefault(root, {})
    for process, times in _values_of(root, psutil.Process.cpu_times):
        used[process] = times.user + times.system
    return sum(list(used.values()))  # another thread may add to it meanwhile


_used: dict[psutil.Process, dict[psutil.Process, float]] = {}


@dataclass(slots=True)
class Seen:
    """The peak MiB of each kind of process, and the CPU seconds of all processes so far.

    The kinds are ``java``, ``workers`` (all other descendants), and ``python``, the sampled process itself. On Linux,
    shared pages are divided among the processes that share them; on other systems, they are not counted.
    """

    memory: Counter[str] = field(default_factory=Counter)
    cpu: float = 0.0


@contextmanager
def watched(root: psutil.Process | None = None) -> Iterator[Seen]:
    """Sample a process and its descendants until the block ends."""
    seen = Seen()
    root, over = root or psutil.Process(), threading.Event()

    def watch() -> None:
        rest = EVERY_S
        while not over.wait(rest):
            begun = perf_counter()
            now: Counter[str] = Counter()
            for process, memory in _values_of(root, psutil.Process.memory_full_info):
                now[_kind(process, root)] += getattr(memory, "pss", memory.uss) / 2**20
            for kind, mib in now.items():
                seen.memory[kind] = max(seen.memory[kind], mib)
            seen.cpu = cpu_s(root)
            rest = max(EVERY_S, (perf_counter() - begun) / SHARE_MAX)

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        over.set()
        thread.join()


def _values_of(root: psutil.Process, ask: Callable[[psutil.Process], Any]) -> Iterator[tuple[psutil.Process, Any]]:
    for process in (root, *root.children(recursive=True)):
        try:
            yield process, ask(process)
        except psutil.Error:
            continue  # it has just ended


def _kind(process: psutil.Process, root: psutil.Process) -> str:
    try:
        name = process.name()
    except psutil.Error:
        name = ""
    return "java" if name == "java" else "python" if process == root else "workers"
