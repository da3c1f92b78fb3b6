"""Measures the delay from a record to /metrics while 0, 20, 50 and 150 busy processes compete for the cores.

Each record is timed twice in the same run: until a bare reader (a process that only reads the topic with
confluent-kafka) has read it, and until a scrape of /metrics shows it. /metrics is scraped every 0.1 s over one
connection with gzip, as Prometheus does. The delay therefore contains the wait for the next scrape, 50 ms on average.
Records are written at planned times, even if earlier records are not shown yet. Otherwise, a slow period would delay
only one record.

The broker has its own session. If the kernel shares cores among sessions (autogroup), the busy processes compete with
the observer and the readers, but hardly with the broker. A broker without CPU time would be fenced by its controller.
"""

from __future__ import annotations

import contextlib
import gzip
import http.client
import json
import random
import re
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from time import sleep, time_ns

from bench.measure import percentile, table
from bench.observer.observing import PATIENCE_S, Observer, observer
from bench.observer.start import compacted
from bench.observer.takeover import taken_over
from bench.synthetic import OFFSETS_PARTITIONS, TOPIC, generation, partition_of, writer

BUSY = (0, 20, 50, 150)
"""Number of busy processes, besides broker, observer and readers."""

GROUPS = 20
"""Number of other groups, of 20 members each, besides the timed one."""

TAKEOVER_GROUPS = 200

SAMPLES = 200
"""Number of records for each number of busy processes."""

PAUSE_S = (0.1, 0.5)
"""Seconds between two records."""

SCRAPE_EVERY_S = 0.1
SETTLING_S = 3.0
"""Seconds from the start of the busy processes until the first record."""

LAST_S = 60.0
"""Maximum wait for the last record, in seconds."""

GROUP = "delay"
SERIES = re.compile(rb'^kafka_rebalance_generation\{consumergroup="delay"\} (\d+)', re.MULTILINE)

_BUSY = "while [ -d /proc/$PPID ]; do i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; done"
"""Shell program that uses a core until its parent process has ended."""


def main(scale: float = 1.0) -> None:
    """Print the tables."""
    samples = max(5, round(SAMPLES * scale))
    header = ("busy processes", "records", "bare p50 ms", "p95", "/metrics p50 ms", "p95", "goal (2 x bare p95 + 100)")
    with compacted(GROUPS) as kafka, observer(kafka.bootstrap_servers) as watching:
        watching.wait(watching.ready, PATIENCE_S)
        counts = thread_counts(watching.process.pid)
        begun = 0
        rows = []
        for number in BUSY:
            with busy(number):
                sleep(SETTLING_S)
                bare, shown = timed(kafka.bootstrap_servers, watching, begun, samples)
            begun += samples
            rows.append((number, samples, *_percentiles(bare), *_percentiles(shown), 2 * percentile(bare, 0.95) + 100))
            print(f"  {rows[-1]}", file=sys.stderr, flush=True)
    table(header, rows)
    print()
    table(("threads", "number"), sorted(counts.items()))
    print()
    takeovers = []
    for number in BUSY if scale >= 1 else BUSY[:1]:
        with compacted(TAKEOVER_GROUPS) as kafka, busy(number):
            found = taken_over(kafka.bootstrap_servers, TAKEOVER_GROUPS, "killed")
        takeovers.append((number, TAKEOVER_GROUPS // 2, found.seconds))
        print(f"  {takeovers[-1]}", file=sys.stderr, flush=True)
    table(("busy processes", "groups taken over", "s after the other replica was killed"), takeovers)


def _percentiles(values: list[float]) -> tuple[float, float]:
    return percentile(values, 0.5), percentile(values, 0.95)


def thread_counts(pid: int) -> Counter[str]:
    """Return the number of threads by name: ``python``, and librdkafka's ``rdk:...`` without the broker's number."""
    names: Counter[str] = Counter()
    for task in Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(OSError):
            names[re.sub(r"-?\d+$", "", (task / "comm").read_text().strip())] += 1
    return names


@contextlib.contextmanager
def busy(number: int) -> Iterator[None]:
    """Run ``number`` busy processes."""
    processes = [subprocess.Popen(["sh", "-c", _BUSY]) for _ in range(number)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
        for process in processes:
            process.wait()


def on_metrics(connection: http.client.HTTPConnection) -> int | None:
    """Return the generation on /metrics, read with gzip as Prometheus does; None if it is not there."""
    connection.request("GET", "/metrics", headers={"Accept-Encoding": "gzip"})
    found = SERIES.search(gzip.decompress(connection.getresponse().read()))
    return int(found.group(1)) if found else None


def timed(
    bootstrap: str,
    watching: Observer,
    begun: int,
    samples: int,
    shown: Callable[[http.client.HTTPConnection], int | None] = on_metrics,
) -> tuple[list[float], list[float]]:
    """Return the milliseconds from each record until the bare reader has it, and until the observer shows it."""
    written: dict[int, int] = {}
    arguments = [bootstrap, str(OFFSETS_PARTITIONS), str(samples), "--follow", "3600", "--stamps", GROUP]
    last = begun + samples

    def write() -> None:
        producer, rng = writer(bootstrap, linger_ms=0), random.Random(begun)
        for number in range(begun + 1, last + 1):
            written[number] = now_ms = time_ns() // 1_000_000
            key, value = generation(GROUP, number, now_ms)
            producer.produce(TOPIC, key=key, value=value, partition=partition_of(key, OFFSETS_PARTITIONS))
            producer.flush()
            sleep(rng.uniform(*PAUSE_S))

    command = [sys.executable, "-m", "bench.observer.bare_read", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as reader:
        try:
            assert reader.stdout is not None
            reader.stdout.readline()  # printed when it starts to read
            writing = threading.Thread(target=write)
            writing.start()
            shown_at = _scraped(watching, begun, last, writing, shown)
            writing.join()
            stamps = json.loads(reader.stdout.read().splitlines()[-1])["stamps"]
        finally:
            reader.kill()  # it has already ended unless the block failed
    read_at = {number: int(stamps[index]) for index, number in enumerate(range(begun + 1, last + 1))}
    return [read_at[n] - written[n] for n in written], [shown_at[n] - written[n] for n in written]


def _scraped(
    watching: Observer,
    begun: int,
    last: int,
    writing: threading.Thread,
    number_of: Callable[[http.client.HTTPConnection], int | None],
) -> dict[int, float]:
    """Return number -> end of the first request that showed it, in epoch milliseconds."""
    shown_at: dict[int, float] = {}
    connection, shown, patience = watching.connection(), begun, LAST_S
    while shown < last:
        due = time_ns() + SCRAPE_EVERY_S * 1e9
        try:
            found = number_of(connection)
        except (OSError, http.client.HTTPException):
            connection.close()
            found = None
        now_ms, number = time_ns() / 1e6, shown if found is None else found
        shown_at |= dict.fromkeys(range(shown + 1, number + 1), now_ms)
        shown = max(shown, number)
        sleep(max(0.0, (due - time_ns()) / 1e9))
        if not writing.is_alive():
            patience -= SCRAPE_EVERY_S
            if patience < 0:
                raise SystemExit(f"the observer shows {shown}, not {last}")
    connection.close()
    return shown_at
