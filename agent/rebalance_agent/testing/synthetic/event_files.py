"""Writes a fleet's history as files of JSON lines, the events of the topic ``rebalance-events``.

Each file has all events of some groups, one group after the other. The groups of a file depend only on the plan, so the
same plan gives the same bytes with any number of processes. A process has one day of one group in memory at a time.
"""

from __future__ import annotations

import gc
import gzip
import signal
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass, field
from multiprocessing import get_context
from pathlib import Path

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import Event, GenerationEvent
from rebalance_agent.testing.synthetic.fleet_plan import FleetPlan
from rebalance_agent.testing.synthetic.synthetic_history import history

__all__ = ["FILES_MAX", "PROCESSES_MAX", "SynthesisResult", "synthesize", "write_file"]

FILES_MAX = 256
"""Maximum number of files: enough for each core of a Spark cluster, few enough that none is small."""

PROCESSES_MAX = 256
"""Maximum number of processes: more than any machine has cores."""

_GZIP_LEVEL = 3  # events are repetitive: higher levels take twice the time and save a tenth of the size
# New objects between two garbage collections. With Python's 700, collections take a tenth of the time; cycles are rare.
_COLLECT_EVERY = 100_000


@dataclass(slots=True)
class SynthesisResult:
    """Counts of written groups, files and bytes, of events by kind, and of generations by group type."""

    groups: int = 0
    files: int = 0
    bytes: int = 0
    kinds: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)

    @property
    def generations(self) -> int:
        """Number of generations and epochs."""
        return self.kinds[GenerationEvent.KIND]

    @property
    def events(self) -> int:
        """Number of events of all kinds."""
        return self.kinds.total()

    def add(self, other: SynthesisResult) -> None:
        """Add the counts of another file."""
        self.groups += other.groups
        self.files += other.files
        self.bytes += other.bytes
        self.kinds += other.kinds
        self.types += other.types

    def count(self, event: Event) -> None:
        """Count one event."""
        self.kinds[event.KIND] += 1
        if isinstance(event, GenerationEvent):
            self.types[event.group_type.value] += 1


def synthesize(
    fleet: FleetPlan, folder: Path, processes: int, on_progress: Callable[[SynthesisResult], None]
) -> SynthesisResult:
    """Write ``events-*.ndjson.gz`` into ``folder``; ``on_progress`` is called with the counts after each file.

    Raises:
        InvalidInputError: the folder has events already, or ``processes`` is out of bounds.
        OSError: the folder cannot be written.
    """
    if not 1 <= processes <= PROCESSES_MAX:
        raise InvalidInputError("processes", f"must be between 1 and {PROCESSES_MAX}, not {processes}")
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.glob("events-*")):
        raise InvalidInputError("out", f"{folder} already has events; name a new folder")
    made = SynthesisResult()
    for file in _written(fleet, folder, processes):
        made.add(file)
        on_progress(made)
    return made


def _shares(fleet: FleetPlan) -> list[range]:
    """Return the numbers of the groups in each file."""
    size = -(-fleet.groups // FILES_MAX)
    return [range(first, min(first + size, fleet.groups)) for first in range(0, fleet.groups, size)]


def _written(fleet: FleetPlan, folder: Path, processes: int) -> Iterator[SynthesisResult]:
    """Write the files, in this process if ``processes`` is 1; yield the counts of each file when it is complete."""
    shares = _shares(fleet)
    if processes == 1:
        yield from (write_file(fleet, folder, index, share) for index, share in enumerate(shares))
        return
    # Spawned, not forked: the caller may have threads.
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_start_process) as pool:
        written = [pool.submit(write_file, fleet, folder, index, share) for index, share in enumerate(shares)]
        try:
            for future in as_completed(written):
                yield future.result()
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _start_process() -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent gets this signal, too, and ends this process
    gc.set_threshold(_COLLECT_EVERY)


def write_file(fleet: FleetPlan, folder: Path, index: int, share: range) -> SynthesisResult:
    """Write the events of the groups ``share`` to file number ``index``, which gets its name when it is complete."""
    path = folder / f"events-{index:05}.ndjson.gz"
    unfinished = path.with_suffix(".unfinished")
    made = SynthesisResult(groups=len(share), files=1)
    try:
        with unfinished.open("wb") as raw, gzip.GzipFile("", "wb", _GZIP_LEVEL, raw, mtime=0) as file:
            for number in share:
                _write_group(fleet, number, file, made)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    made.bytes = unfinished.stat().st_size
    unfinished.rename(path)
    return made


def _write_group(fleet: FleetPlan, number: int, file: gzip.GzipFile, made: SynthesisResult) -> None:
    for event in history(fleet, number):
        file.write(json_line(event) + b"\n")
        made.count(event)
