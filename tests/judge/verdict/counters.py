"""Compares an observer's counters of stalled partition-seconds with the truth, by group."""

from __future__ import annotations

import re

from judge.evidence.process import FOREVER

STALLED, STALLED_UPPER = (
    "kafka_rebalance_stalled_partition_seconds_total",
    "kafka_rebalance_stalled_partition_seconds_upper_total",
)
VALUES = ("reported", "reported upper", "real least", "real most")
SAMPLE = re.compile(r"^(\w+)\{([^}]*)\} (\S+)", re.MULTILINE)
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def samples(text, name):
    """Return the value of a series by its label ``consumergroup``, summed over other labels."""
    found = {}
    for metric, labels, value in SAMPLE.findall(text):
        if metric == name:
            group = dict(LABEL.findall(labels)).get("consumergroup")
            found[group] = found.get(group, 0.0) + float(value)
    return found


def partition_seconds(spans):
    """Return the real stalled partition-seconds: minimum and maximum."""
    ended = [span for span in spans if span.until is not FOREVER and not span.unsure]
    return sum(span.shortest_s for span in ended), sum(span.longest_s for span in ended)


def compared(text, spans_by_group):
    """Return rows: group, reported (and upper, if there is one), real; the last row is their sum."""
    reported, upper = samples(text, STALLED), samples(text, STALLED_UPPER)
    rows = [
        {
            "group": group,
            "reported": reported.get(group),
            "reported upper": upper.get(group),
            "real least": partition_seconds(spans)[0],
            "real most": partition_seconds(spans)[1],
        }
        for group, spans in sorted(spans_by_group.items())
    ]
    total = {name: sum(row[name] or 0.0 for row in rows) for name in VALUES}
    return [
        _rounded(row) for row in (*rows, {"group": "all", **total, "reported upper": total["reported upper"] or None})
    ]


def too_high(rows):
    """Return the groups whose counter, a lower bound, is above the real stalled partition-seconds."""
    return [row["group"] for row in rows[:-1] if row["reported"] is not None and row["reported"] > row["real most"] + 1]


def _rounded(row):
    return {name: round(value, 1) if isinstance(value, float) else value for name, value in row.items()}
