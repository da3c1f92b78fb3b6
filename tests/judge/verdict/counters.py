"""Counters of an observer's /metrics beside the truth: partition-seconds that stood still, by group."""

from __future__ import annotations

import re

from judge.evidence.process import FOREVER

STALLED, STALLED_UPPER = (
    "kafka_rebalance_stalled_partition_seconds_total",
    "kafka_rebalance_stalled_partition_seconds_upper_total",
)
SAMPLE = re.compile(r"^(\w+)\{([^}]*)\} (\S+)", re.MULTILINE)
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')


def samples(text, name):
    """Group -> value of a series with the label ``consumergroup``, summed over other labels."""
    found = {}
    for metric, labels, value in SAMPLE.findall(text):
        if metric == name:
            group = dict(LABEL.findall(labels)).get("consumergroup")
            found[group] = found.get(group, 0.0) + float(value)
    return found


def partition_seconds(spans):
    """What stood still in truth: least and most."""
    ended = [span for span in spans if span.until is not FOREVER and not span.unsure]
    return sum(span.shortest_s for span in ended), sum(span.longest_s for span in ended)


def compared(text, spans_by_group):
    """Rows: group, told (and upper, where there is one), real."""
    told, upper = samples(text, STALLED), samples(text, STALLED_UPPER)
    return [
        {
            "group": group,
            "told": _round(told.get(group)),
            "told upper": _round(upper.get(group)),
            "real least": _round(partition_seconds(spans)[0]),
            "real most": _round(partition_seconds(spans)[1]),
        }
        for group, spans in sorted(spans_by_group.items())
    ]


def _round(value):
    return None if value is None else round(value, 1)
