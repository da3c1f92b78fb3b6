"""Samples of the resources of the observer's process, and the measures that are judged."""

from __future__ import annotations

from dataclasses import dataclass, fields

import psutil
from bench.observer.observing import Observer

from rebalance_agent.clock import Clock

__all__ = ["MEASURES", "Measure", "Sample", "sampled"]


@dataclass(frozen=True)
class Sample:
    """One sample: hours since the beginning, and the values at that time."""

    hours: float
    rss_mib: float
    descriptors: float
    threads: float
    scrape_ms: float
    scrape_mib: float
    cpu_share: float


@dataclass(frozen=True)
class Measure:
    """One column of the samples; ``allowed``: a growth of less than this does not matter, even if it is certain."""

    name: str
    title: str
    unit: str
    allowed: float


MEASURES = (
    Measure("rss_mib", "resident memory", "MiB", 3.0),
    Measure("descriptors", "open file descriptors", "", 2.0),
    Measure("threads", "threads", "", 2.0),
    Measure("scrape_ms", "time of a scrape", "ms", 50.0),
    Measure("scrape_mib", "size of a scrape", "MiB", 0.3),
    Measure("cpu_share", "share of a core", "", 0.03),
)
assert {each.name for each in MEASURES} == {each.name for each in fields(Sample)} - {"hours"}


def sampled(watching: Observer, clock: Clock, begun: float, cpu_before: tuple[float, float]) -> Sample:
    """Take a sample now; ``cpu_before``: time and CPU seconds of the sample before."""
    process = psutil.Process(watching.process.pid)
    before = clock.monotonic()
    page = watching.metrics()
    if "# HELP " not in page:  # empty, or the reason of a failure
        raise SystemExit(f"the observer did not answer a scrape: {page[:200]}")
    scrape_ms = (clock.monotonic() - before) * 1000
    now, cpu = clock.monotonic(), watching.cpu_seconds()
    return Sample(
        (now - begun) / 3600,
        watching.rss_mib(),
        process.num_fds(),
        process.num_threads(),
        scrape_ms,
        len(page) / 2**20,
        (cpu - cpu_before[1]) / max(1e-9, now - cpu_before[0]),
    )
