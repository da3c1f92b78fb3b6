"""Runs the measurements by name; ``make bench`` runs all but the assignors, which take a quarter of an hour."""

from __future__ import annotations

import argparse
import importlib
import sys

from bench import assignors

MEASUREMENTS = {
    "hooks": "what the wrapper and the listener add to a rebalance",
    "tail": "catching up with an offsets topic of 500,000 records: CPU and memory beside a bare read",
    "scrape": "what a scrape of up to 10,000 groups costs, beside prometheus_client with as many samples",
    "delay": "from a record's timestamp to its value on /metrics",
}


APART = "assignors"
"""Not among the measurements that run by themselves; takes flags of its own."""


def main() -> int:
    """Run the chosen measurements one after the other."""
    if sys.argv[1:2] == [APART]:
        assignors.main(sys.argv[2:])
        return 0
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument(
        "measurement",
        nargs="*",
        help="; ".join(f"{name}: {text}" for name, text in MEASUREMENTS.items())
        + f"; or alone, with flags of its own (--help) {APART}: all assignors beside other clients'",
    )
    options = parser.parse_args()
    if unknown := [name for name in options.measurement if name not in MEASUREMENTS]:
        parser.error(f"there is no measurement {unknown[0]!r}; choose from {', '.join(MEASUREMENTS)}")
    for name in options.measurement or MEASUREMENTS:
        print(f"\n## {name}: {MEASUREMENTS[name]}\n", flush=True)
        importlib.import_module(f"bench.{name}").main()
    return 0


if __name__ == "__main__":
    sys.exit(main())
