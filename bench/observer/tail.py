"""Measures the cost of following an offsets topic with 5,500 new records per second, for half a minute.

There are already 2,000 groups of 20 members. One record in 2,000 is a generation, so each group rebalances every twelve
minutes; the other records are commits. The observer has its default settings (it writes events and snapshots) and is
scraped every 15 seconds. A bare reader reads the same records at the same time.
"""

from __future__ import annotations

import random
import statistics
import sys
import threading
from time import perf_counter, sleep, time_ns
from typing import NamedTuple

from bench.measure import in_process, table
from bench.observer.observing import PATIENCE_S, Observer, observer
from bench.observer.start import compacted
from bench.synthetic import (
    GROUPS,
    OFFSETS_PARTITIONS,
    PARTITIONS,
    TOPIC,
    commit,
    enqueue,
    generation,
    name_of,
    partition_of,
    writer,
)

RATE = 5_500
RECORDS_PER_GENERATION = 2_000
SECONDS = 30.0
QUIET_S = 10.0
SETTLING_S = 10.0
"""Seconds for which the observer settles stalls and writes snapshots before the measurement begins."""

SCRAPE_EVERY_S = 15.0
STEP_S = 0.01
"""Seconds that the writer sleeps after it has written the due records."""


class Followed(NamedTuple):
    """CPU as shares of a core. ``quiet``: the observer without new records; ``scrape_s``: CPU seconds of one scrape."""

    quiet: float
    bare: float
    observer: float
    scrape_s: float
    rss_mib: float
    peak_mib: float


def main(scale: float = 1.0) -> None:
    """Print the table."""
    found = followed(scale)
    shares = (f"{share:.2%}" for share in (found.quiet, found.bare, found.observer))
    header = ("records / s", "observer, no records", "bare read", "observer", "one scrape CPU s", "RSS MiB", "peak MiB")
    table(header, [(round(RATE * scale), *shares, found.scrape_s, found.rss_mib, found.peak_mib)])


def figures(scale: float) -> dict[str, float]:
    """Return the figures that grow with the rate; the number of groups is constant."""
    found = followed(scale)
    return {
        "bare read, % of a core": found.bare * 100,
        "observer, % of a core": found.observer * 100,
        "observer, RSS MiB": found.rss_mib,
    }


def followed(scale: float) -> Followed:
    """Follow at ``scale`` times the rate; below a tenth with fewer groups and for a shorter time, as a trial."""
    part = min(1.0, scale * 10)
    groups, seconds = round(GROUPS * part), max(1.0, SECONDS * part)
    with compacted(groups) as kafka:
        bootstrap = kafka.bootstrap_servers
        with observer(bootstrap) as watching:
            watching.wait(lambda: len(watching.generations()) >= groups and watching.ready(), PATIENCE_S)
            sleep(max(1.0, SETTLING_S * part))
            before = watching.cpu_seconds()
            sleep(max(1.0, QUIET_S * part))
            quiet = (watching.cpu_seconds() - before) / max(1.0, QUIET_S * part)
            bare: dict[str, float] = {}
            arguments = (bootstrap, str(OFFSETS_PARTITIONS), str(sys.maxsize), "--follow", str(seconds))
            beside = threading.Thread(target=lambda: bare.update(in_process("bench.observer.bare_read", *arguments)))
            beside.start()
            before, begun = watching.cpu_seconds(), perf_counter()
            scrapes = [_written(watching, bootstrap, groups, RATE * scale, min(seconds, SCRAPE_EVERY_S))]
            while perf_counter() - begun < seconds:
                scrapes.append(_written(watching, bootstrap, groups, RATE * scale, min(seconds, SCRAPE_EVERY_S)))
            share = (watching.cpu_seconds() - before) / (perf_counter() - begun)
            rss, peak = watching.rss_mib(), watching.peak_mib()
            beside.join()
    return Followed(quiet, bare["cpu_s"] / seconds, share, statistics.median(scrapes), rss, peak)


def _written(watching: Observer, bootstrap: str, groups: int, rate: float, seconds: float) -> float:
    """Write at ``rate`` for ``seconds`` and scrape; return the CPU seconds of the scrape."""
    producer, rng = writer(bootstrap, linger_ms=5), random.Random(time_ns())
    begun, count = perf_counter(), 0
    while (passed := perf_counter() - begun) < seconds:
        while count < rate * passed:
            count += 1
            name, now_ms = name_of(rng.randrange(groups)), time_ns() // 1_000_000
            if count % RECORDS_PER_GENERATION:
                key, value = commit(name, "orders", rng.randrange(PARTITIONS), count, now_ms)
            else:
                key, value = generation(name, now_ms // 1000 % 1_000_000, now_ms)
            enqueue(producer, TOPIC, key=key, value=value, partition=partition_of(key, OFFSETS_PARTITIONS))
        producer.poll(0)
        sleep(STEP_S)
    producer.flush()
    before = watching.cpu_seconds()
    watching.metrics()
    return watching.cpu_seconds() - before
