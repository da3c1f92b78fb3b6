"""Runs the measurements by name; ``make bench`` runs all except the longest measurements, which are in `APART`."""

from __future__ import annotations

import argparse
import importlib
import signal
import sys

from bench.assignors import compare_assignors

MEASUREMENTS = {
    "hooks": ("clients.hooks", "what the wrapper and the listener add to a rebalance"),
    "catch-up": (
        "observer.catch_up",
        "reading back an offsets topic of 1.5 M records: CPU and memory beside a bare read",
    ),
    "start": ("observer.start", "from the start of the process to every group of 2,000 on /metrics"),
    "tail": (
        "observer.tail",
        "following 5,500 records a second of 2,000 groups: share of a core and memory beside a bare read",
    ),
    "gateway": (
        "gateway.throughput",
        "throughput, CPU, latency and memory of the gateway, beside none and beside a plain forwarder",
    ),
    "delay": ("observer.delay", "from a record's timestamp to its value on /metrics"),
    "takeover": ("observer.takeover", "from the death of one of two replicas to its groups on the other's /metrics"),
    "scrape": (
        "observer.scrape",
        "what a scrape of up to 10,000 groups costs, beside prometheus_client with as many samples",
    ),
}
"""Name -> the module and the subject of the measurement."""
APART = {
    "harmless": (
        "clients.harmless",
        "what instrumentation costs a consumer, with a working, absent, hanging or failing sidecar",
    ),
    "java-polls": (
        "clients.java_polls",
        "calls of poll() of a Java consumer with the client jar, beside a bare one",
    ),
    "rolling-restart": (
        "gateway.rolling_restart",
        "generations, stalls, handovers and duplicates of a rolling restart behind a gateway, seats off and on",
    ),
    "starved": (
        "observer.starved",
        "from a record to /metrics, and takeover, beside 0, 20, 50 and 150 busy processes and a bare reader",
    ),
    "hostile": (
        "observer.hostile",
        "from a record of an ordinary group to the API, beside hostile tenants and a bare reader; memory",
    ),
    "gateway-hostile": (
        "gateway.hostile",
        "a small read through the gateway and directly, beside hostile clients of the gateway; memory",
    ),
    "attacks-replayed": (
        "replayed.attacks_replayed",
        "memory, time and lost answers under the attacks of a security review, before their mends and now",
    ),
    "pushes": (
        "gateway.pushes",
        "CPU of the gateway for a push of client telemetry beside a forwarded Produce request of the same size",
    ),
    "growth": (
        "observer.growth",
        "catch-up, start, tail, delay, takeover and scrape at several sizes, up to ten times as large",
    ),
    "whatif": (
        "pipeline.whatif",
        "what-if of a million synthetic generations: Spark beside a plain loop, generations a second",
    ),
    "pipeline": (
        "pipeline.whole_pipeline",
        "a million synthetic generations through the whole pipeline: each stage's time, peak memory",
    ),
    "pipeline-poisoned": (
        "pipeline.poisoned",
        "the tables of a million events, alone and among 1,500 damaged ones: which rows differ",
    ),
    "pipeline-growth": (
        "pipeline.pipeline_growth",
        "the same with ten times the rows, the groups, the members of a small fleet",
    ),
    "increments": (
        "pipeline.increments",
        "aggregate after one more day of events, beside the same tables from the whole history",
    ),
    "ingest": (
        "pipeline.ingest",
        "events ingested and generations decoded a second, beside a bare read in the same Spark",
    ),
    "changes": (
        "pipeline.changes",
        "precision, recall and false alarms of changes in groups with and without planted ones",
    ),
    "small-files": ("pipeline.small_files", "a day of micro-batches: how many files they leave"),
}
ASSIGNORS = "assignors"
"""The measurement with its own flags."""


def main() -> int:
    """Run the selected measurements in order."""
    if sys.argv[1:2] == [ASSIGNORS]:
        compare_assignors.main(sys.argv[2:])
        return 0
    every = MEASUREMENTS | APART
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "measurement",
        nargs="*",
        help="; ".join(f"{name}: {text}" for name, (_, text) in every.items())
        + f"; or alone, with flags of its own (--help) {ASSIGNORS}: all assignors beside other clients'",
    )
    parser.add_argument("--scale", type=float, default=1.0, help="so many times as large (default 1)")
    options = parser.parse_args()
    if unknown := [name for name in options.measurement if name not in every]:
        parser.error(f"there is no measurement {unknown[0]!r}; choose from {', '.join(every)}")
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        for name in options.measurement or MEASUREMENTS:
            module, text = every[name]
            print(f"\n## {name}: {text}\n", flush=True)
            importlib.import_module(f"bench.{module}").main(options.scale)
    except KeyboardInterrupt:
        print("\ninterrupted; the results so far are above", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
