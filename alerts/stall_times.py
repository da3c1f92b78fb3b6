"""Renders the tables of ``docs/alerts.md`` with the alerts that fire for each length of a stall, and their delay.

``stall_times.json`` has the times. ``tests/alerts/test_stall_times.py`` writes it after promtool has confirmed them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

__all__ = ["stall_times"]

_FILE = Path(__file__).with_suffix(".json")

_CASES = {
    "SYNC": "**Members do not report, and the stall is certain**: all members have rejoined, and the leader's "
    "`assign()` is slow.",
    "REPORTED": "**Members report** (to a sidecar or gateway): the other members wait for one member that rejoins "
    "late.",
    "JOIN": "**Members do not report, and one member rejoins late**: until it rejoins, it is not certain which "
    "partitions are stalled. Alerts on the age of the rebalance fire, and `KafkaGroupStallBudgetBurnPossible` "
    "uses the upper bound.",
}
_INTRODUCTION = """\
The tables show the seconds from the beginning of the stall to the alert, for an eager group of 4 members and 12
partitions, with the default values. The limit of a stall
([`stall_limits`](reference/observer.md#when-a-group-counts-as-stalled)) is 30 s for `KafkaGroupStalled`, and 90 s for
`KafkaGroupStalledLong`. If a cell has two numbers, they are the shortest and the longest time: the time depends on how
long before the next scrape and evaluation the stall begins. While `KafkaGroupStalled` fires,
`KafkaGroupRebalanceSlow` is inhibited.{or_none}

Tests with promtool confirm each number. In these tests, scrapes and evaluations happen at the same moment. In
Prometheus, they do not: after the limit is reached, an alert fires within 1.2 s plus one scrape interval plus one
evaluation interval. If a stall ends less than 1.2 s after it has reached the limit, it is counted when its rebalance
settles, usually 5 s later."""
_OR_NONE = " A time with *or none* means that the stall may end before the alert fires."


def stall_times() -> str:
    """Return the introduction, and one table for each kind of stall."""
    rows: list[Mapping[str, Any]] = json.loads(_FILE.read_text(encoding="utf-8"))
    tables = [f"{about}\n\n{_table(rows, case)}" for case, about in _CASES.items()]
    or_none = _OR_NONE if any("or none" in table for table in tables) else ""
    return "\n\n".join([_INTRODUCTION.format(or_none=or_none), *tables])


def _table(rows: list[Mapping[str, Any]], case: str) -> str:
    own = [row for row in rows if row["case"] == case]
    scrapes = sorted({row["scrape"] for row in own})
    lines = [
        f"| stall | {' | '.join(f'scraped every {scrape} s' for scrape in scrapes)} |",
        f"| --- |{' --- |' * len(scrapes)}",
    ]
    for length in sorted({row["length"] for row in own}):
        cells = [
            _cell([row for row in own if (row["length"], row["scrape"]) == (length, scrape)]) for scrape in scrapes
        ]
        lines.append(f"| {length} s | {' | '.join(cells)} |")
    return "\n".join(lines)


def _cell(rows: list[Mapping[str, Any]]) -> str:
    fired = [f"`{row['alert']}` {_after(*row['after'])}" for row in rows if row["after"][0] is not None]
    return "<br>".join(fired) or "nothing"


def _after(earliest: int, latest: int | None) -> str:
    return f"{earliest} or none" if latest is None else f"{earliest} - {latest}"
