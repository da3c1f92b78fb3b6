"""Measures the time from the start of the process to complete data, with 2,000 groups of 20 members.

The topic is compacted: each group has one generation and a commit of every partition. The data is complete when
/metrics has every group, whatever its source is. The data is exact when every group has its generation and no old
records are left to read. The first start reads the whole topic; the next start continues from the first one's snapshot.
"""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterable, Iterator
from time import time_ns
from typing import NamedTuple

from bench.measure import table
from bench.observer.observing import OFFSETS_PART, PATIENCE_S, observer
from bench.synthetic import GROUPS, PARTITIONS, commit, fill, generation, name_of, offsets_broker
from rebalance_agent.testing import EmbeddedKafka

ASKED_EVERY_S = 0.2
"""Seconds between requests. A page of 2,000 groups has 17 MB, so frequent requests would take most of the CPU."""

STARTS = ("first", "from a snapshot", "from a snapshot")


class Started(NamedTuple):
    """Seconds from the start of the process until the data was complete and exact, CPU seconds, and peak memory."""

    first_s: float
    exact_s: float
    cpu_s: float
    peak_mib: float


def main(scale: float = 1.0) -> None:
    """Print the table."""
    groups = round(GROUPS * scale)
    with compacted(groups) as kafka:
        rows = [(start, groups, *started(kafka.bootstrap_servers, groups)) for start in STARTS]
    table(("start", "groups", "first truth s", "exact s", "CPU s", "peak MiB"), rows)


def figures(scale: float) -> dict[str, float]:
    """Return the figures that grow with the number of groups."""
    groups = round(GROUPS * scale)
    with compacted(groups) as kafka:
        first, again = (started(kafka.bootstrap_servers, groups) for _ in range(2))
    return {
        "first start, s to exact": first.exact_s,
        "first start, CPU s": first.cpu_s,
        "first start, peak MiB": first.peak_mib,
        "from a snapshot, s to exact": again.exact_s,
        "from a snapshot, CPU s": again.cpu_s,
    }


@contextlib.contextmanager
def compacted(groups: int, more: Iterable[tuple[bytes, bytes]] = ()) -> Iterator[EmbeddedKafka]:
    """Run a broker whose offsets topic has one record per key, among them ``more`` (key and value)."""
    now_ms = time_ns() // 1_000_000
    names = [name_of(number) for number in range(groups)]
    commits = (commit(name, "orders", partition, 7, now_ms) for name in names for partition in range(PARTITIONS))
    with offsets_broker() as (kafka, partitions):
        made = itertools.chain(commits, (generation(name, 1, now_ms) for name in names), more)
        fill(kafka.bootstrap_servers, made, partitions)
        yield kafka


def started(bootstrap: str, groups: int) -> Started:
    """Start an observer, and end it when its data is exact. At its end it writes the snapshots for the next start."""
    with observer(bootstrap) as watching:
        first = watching.wait(lambda: watching.shown() >= groups, PATIENCE_S, ASKED_EVERY_S)
        exact = watching.wait(lambda: len(watching.generations()) >= groups, PATIENCE_S, ASKED_EVERY_S)
        exact = max(exact, watching.wait(lambda: watching.ready(OFFSETS_PART), PATIENCE_S))
        return Started(first, exact, watching.cpu_seconds(), watching.peak_mib())
