"""Measures the first start on an offsets topic of 1.5 M records: 2,000 groups of 20 members, 25 generations each.

The observer has its usual settings, publishes events and writes snapshots. Its time runs from the start of the process
until /metrics has every group with its last generation. It is compared in the same run with a minimal reader, and with
a plain loop that decodes every record except offset commits.
"""

from __future__ import annotations

from collections.abc import Iterator
from time import time_ns
from typing import NamedTuple

from bench.measure import in_process, table
from bench.observer.observing import OFFSETS_PART, PATIENCE_S, observer
from bench.synthetic import GROUPS, RECORDS_PER_GENERATION, fill, offsets_broker, records

RECORDS = 1_500_000
ROUNDS = 3


class Reading(NamedTuple):
    """The cost of reading the whole topic with one reader."""

    reader: str
    cpu_s: float
    wall_s: float
    peak_mib: float


def main(scale: float = 1.0) -> None:
    """Print the table."""
    total = round(RECORDS * scale)
    rows = []
    for readings in measured(total, GROUPS, ROUNDS if scale >= 0.1 else 1):
        bare = readings[0].cpu_s
        rows += [(each.reader, total, each.cpu_s, each.cpu_s / bare, each.wall_s, each.peak_mib) for each in readings]
    table(("reader", "records", "CPU s", "ratio", "wall s", "peak MiB"), rows)


def figures(scale: float) -> dict[str, float]:
    """Return the figures that grow with the number of records; the number of groups is constant."""
    ((bare, plain, observed),) = measured(round(RECORDS * scale), GROUPS, rounds=1)
    return {
        "bare read, CPU s": bare.cpu_s,
        "plain decoding, CPU s": plain.cpu_s,
        "observer, CPU s": observed.cpu_s,
        "observer, peak MiB": observed.peak_mib,
    }


def measured(total: int, groups: int, rounds: int) -> Iterator[tuple[Reading, Reading, Reading]]:
    """Run all readers one after the other, ``rounds`` times."""
    generations = -(-total // RECORDS_PER_GENERATION)
    seen = min(groups, generations)
    last = sum(-(-(generations - group) // groups) for group in range(seen))
    with offsets_broker() as (kafka, partitions):
        bootstrap = kafka.bootstrap_servers
        fill(bootstrap, records(total, groups, time_ns() // 1_000_000), partitions)
        for number in range(rounds):
            bare = in_process("bench.observer.bare_read", bootstrap, str(partitions), str(total))
            plain = in_process("bench.observer.bare_read", bootstrap, str(partitions), str(total), "--decode")
            # Each round has its own state topic: snapshots of the round before would leave nothing to read.
            with observer(bootstrap, "--state-topic", f"bench-state-{number}") as watching:
                watching.wait(lambda: watching.ready(OFFSETS_PART), PATIENCE_S)
                wall = watching.wait(lambda: sum(watching.generations()) == last, PATIENCE_S, 0.5)
                observed = Reading("observer", watching.cpu_seconds(), wall, watching.peak_mib())
            yield (
                Reading("bare read", bare["cpu_s"], bare["process_wall_s"], bare["rss_mib"]),
                Reading("plain decoding", plain["cpu_s"], plain["process_wall_s"], plain["rss_mib"]),
                observed,
            )
