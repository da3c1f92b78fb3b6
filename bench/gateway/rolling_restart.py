"""Measures a rolling restart of 6 unmodified consumers of 24 partitions behind a gateway, with seats off and on.

With surge, the old consumer ends 3 s after the new one owns partitions or the gateway holds its join. Without surge,
the new consumer starts 3 s after the old one has ended. The clients send heartbeats every 0.2 s, so rebalances are
shorter than with their defaults.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from bench.measure import in_process, table

PAIRS = (
    ("confluent-kafka", "range"),
    ("confluent-kafka", "cooperative-sticky"),
    ("java-3.3", "RangeAssignor"),
    ("java-4.4", "RangeAssignor"),
    ("java-4.4", "consumer"),
    ("confluent-kafka", "consumer"),
    ("kafka-python", "range"),
    ("aiokafka", "range"),
    ("sarama", "range"),
    ("franz-go", "cooperative-sticky"),
)
"""Client and assignor; ``consumer``: a group of KIP-848."""
RUNS = tuple((*pair, restart) for restart in ("surge", "no-surge") for pair in PAIRS)
FIGURES = (
    "generations",
    "stalled_partition_seconds",
    "worst_stall_s",
    "handover_p50_s",
    "age_p99_s",
    "duplicates",
    "lost",
)
ROOT = Path(__file__).parents[2]


def main(scale: float = 1.0) -> None:
    """Print a row for each of `RUNS`, with seats off and on; ``scale`` below 1 is the share of `RUNS` that runs."""
    os.environ["PYTHONPATH"] = os.pathsep.join((str(ROOT / "agent"), str(ROOT / "tests")))
    runs = RUNS[: max(1, round(len(RUNS) * scale))]
    rows = ((*run, seats, *_figures(*run, seats)) for run in runs for seats in ("off", "on"))
    table(("client", "assignor", "restart", "seats", *(name.replace("_", " ") for name in FIGURES)), rows)


def _figures(client: str, assignor: str, surge: str, seats: str) -> list[object]:
    try:
        found = in_process("support.seats.measured_roll", client, assignor, surge, seats)
    except SystemExit as error:
        print(str(error)[-300:], file=sys.stderr)
        return ["failed"] * len(FIGURES)
    return [found[name] for name in FIGURES]
