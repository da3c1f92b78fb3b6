"""Writes the text of /metrics from catalogue rows and samples.

Samples have one form in both dialects (see `dialects`), so that one cached text serves both. Headers differ, and so do
the buckets of a histogram with exemplars, which only OpenMetrics has.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable

from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.group_metric import Sample
from rebalance_agent.metrics.metric import Metric, MetricType
from rebalance_agent.tracking.views import Exemplar, StallHistogram

__all__ = ["TextFormat", "has_exemplars"]

PAIRS_MAX = 4_096
"""(Label, value) pairs whose text is cached: a group's samples share its name, all groups share triggers and states."""

_SUFFIXES = {MetricType.COUNTER: "_total", MetricType.INFO: "_info"}

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class TextFormat:
    """Writes headers and samples, with the label ``cluster`` on every sample where a cluster name is set."""

    def __init__(self, cluster: str = "") -> None:
        """``cluster``: value of the label; empty for no such label."""
        self._first = f'cluster="{_escape(cluster)}"' if cluster else ""

    def header(self, metric: Metric, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """The metric's ``# HELP`` and ``# TYPE`` lines, which stand once before all its samples."""
        name, kind, text = metric.name, metric.kind, metric.help.replace("\\", r"\\").replace("\n", r"\n")
        if dialect is Dialect.OPENMETRICS:
            # A family is named without the suffix that its samples have. No UNIT: it would have to be the name's last
            # word, and ``partitions_moved`` counts partitions.
            name, text = name.removesuffix(_SUFFIXES.get(kind, "")), text.replace('"', r"\"")
        elif kind is MetricType.INFO:
            kind = MetricType.GAUGE
        return f"# HELP {name} {text}\n# TYPE {name} {kind}\n".encode()

    def samples(self, metric: Metric, samples: Iterable[Sample], dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """The samples' lines in the given order; in OpenMetrics with their exemplars."""
        lines: list[str] = []
        name, names, pairs_of = metric.name, metric.labels, self._pairs
        for labels, value in samples:
            pairs = pairs_of(names, labels)
            if isinstance(value, StallHistogram):
                lines += _histogram(metric, pairs, value, exemplars=dialect is Dialect.OPENMETRICS)
            else:
                lines.append(_line(name, pairs, value))
        return "".join(lines).encode()

    def lines(self, samples: Iterable[tuple[str, tuple[tuple[str, str], ...], float]]) -> bytes:
        """Lines of (name, label pairs, value); a histogram must be split into its parts already."""
        return "".join(
            [
                _line(name, self._pairs(tuple(label for label, _ in pairs), tuple(value for _, value in pairs)), number)
                for name, pairs, number in samples
            ]
        ).encode()

    def _pairs(self, names: tuple[str, ...], values: tuple[str, ...]) -> str:
        if len(names) != len(values):
            raise ValueError(f"{len(values)} values for the labels {', '.join(names)}")
        pairs = ",".join(map(_pair, names, values))
        return f"{self._first},{pairs}" if self._first and pairs else self._first or pairs


@functools.lru_cache(PAIRS_MAX)
def _pair(name: str, value: str) -> str:
    return f'{name}="{_escape(value)}"'


def has_exemplars(samples: Iterable[Sample]) -> bool:
    """Whether these samples have exemplars, so that their text differs between the dialects."""
    return any(isinstance(value, StallHistogram) and value.exemplars for _, value in samples)


def _histogram(metric: Metric, pairs: str, histogram: StallHistogram, *, exemplars: bool) -> list[str]:
    begins = f"{metric.name}_bucket{{{pairs}," if pairs else f"{metric.name}_bucket{{"
    totals = itertools.accumulate(histogram.counts)
    lines = [f"{begins}{bound} {total}\n" for bound, total in zip(_bounds(metric), totals, strict=True)]
    for index, exemplar in histogram.exemplars.items() if exemplars else ():
        lines[index] = f"{lines[index][:-1]} {_exemplar(exemplar)}\n"
    total = sum(histogram.counts)
    lines.append(_line(f"{metric.name}_sum", pairs, histogram.sum_seconds))
    lines.append(_line(f"{metric.name}_count", pairs, total))
    return lines


@functools.cache
def _bounds(metric: Metric) -> tuple[str, ...]:
    return tuple(f'le="{_number(bound)}"}}' for bound in (*metric.buckets, math.inf))


def _exemplar(exemplar: Exemplar) -> str:
    seconds, at = _number(exemplar.seconds), _number(exemplar.timestamp_ms / 1000)
    return f'# {{event_id="{_escape(exemplar.event_id)}"}} {seconds} {at}'


def _line(name: str, pairs: str, value: float) -> str:
    number = str(value) if type(value) is int else _number(value)  # nearly all values are ints, of tens of thousands
    return f"{name}{{{pairs}}} {number}\n" if pairs else f"{name} {number}\n"


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def _escape(value: str) -> str:
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return value
    # Lone surrogates (names that were no UTF-8) become visible escapes; nothing else changes.
    return value.encode("utf-8", "backslashreplace").decode().translate(_ESCAPES)
