"""Writes the text of /metrics from catalogue rows and samples.

Samples have the same form in both dialects (see `dialects`), so one cached text serves both dialects. The dialects
differ in headers, and in the buckets of a histogram with exemplars, because only OpenMetrics has exemplars.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Iterable
from typing import Protocol, cast

from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.group_metric import GROUP_LABEL, Values
from rebalance_agent.metrics.metric import Metric, MetricType
from rebalance_agent.metrics.short_names import SHORT_NAME_BYTES_MAX, short_name
from rebalance_agent.traces.span import trace_id
from rebalance_agent.tracking.views import Exemplar, StallHistogram
from rebalance_agent.visible_names import visible

__all__ = ["GroupText", "TextFormat", "has_exemplars"]

PAIRS_MAX = 4_096
"""Maximum number of label values with cached text: all groups share triggers and states; a member's metrics share its
labels."""

CACHED_CHARACTERS_MAX = 2 * SHORT_NAME_BYTES_MAX
"""Maximum number of characters of a label value whose text is cached, so that long names cannot fill the memory."""

_SUFFIXES = {MetricType.COUNTER: "_total", MetricType.INFO: "_info"}

_PAIRS = "\0"
"""Placeholder for the label pairs in a template; metric names and bounds do not contain it."""

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class GroupText(Protocol):
    """Writes the lines of one group's samples, in OpenMetrics with the samples' exemplars."""

    def __call__(self, metric: Metric, samples: Values, dialect: Dialect = Dialect.PROMETHEUS, /) -> bytes:
        """``samples``: samples without the label of the group."""
        ...


class TextFormat:
    """Writes headers and samples; every sample has the label ``cluster`` if a cluster name is set."""

    def __init__(self, cluster: str = "") -> None:
        """``cluster``: value of the label; if it is empty, samples do not have the label."""
        self._first = f'cluster="{_value(cluster)}"' if cluster else ""

    def header(self, metric: Metric, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """Return the metric's ``# HELP`` and ``# TYPE`` lines, which appear once, before all its samples."""
        name, kind, text = metric.name, metric.kind, metric.help.replace("\\", r"\\").replace("\n", r"\n")
        if dialect is Dialect.OPENMETRICS:
            # A family is named without the suffix that its samples have. No UNIT: it would have to be the name's last
            # word, and ``partitions_moved`` counts partitions.
            name, text = name.removesuffix(_SUFFIXES.get(kind, "")), text.replace('"', r"\"")
        elif kind is MetricType.INFO:
            kind = MetricType.GAUGE
        return f"# HELP {name} {text}\n# TYPE {name} {kind}\n".encode()

    def samples(self, metric: Metric, samples: Values, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
        """Return the samples' lines in the given order, in OpenMetrics with exemplars."""
        return _written(self._first, 0, metric, samples, dialect)

    def of_group(self, group: str) -> GroupText:
        """Return a function like `samples` for the samples of one group, which are given without its label."""
        pair = f'{GROUP_LABEL[0]}="{_value(group)}"'
        return functools.partial(_written, f"{self._first},{pair}" if self._first else pair, 1)

    def lines(self, samples: Iterable[tuple[str, tuple[tuple[str, str], ...], float]]) -> bytes:
        """Return lines for (name, label pairs, value); a histogram must already be split into its parts."""
        lines = []
        for name, pairs, value in samples:
            names, values = zip(*pairs, strict=True) if pairs else ((), ())
            lines.append(_line(name, self._first + _pairs(names, values, bool(self._first)), value))
        return "".join(lines).encode()


def _written(first: str, skipped: int, metric: Metric, samples: Values, dialect: Dialect = Dialect.PROMETHEUS) -> bytes:
    """Lines with the label pairs ``first`` and those of ``samples``, which are without the ``skipped`` first labels."""
    led, names = bool(first), metric.labels[skipped:]
    if metric.buckets:
        exemplars = dialect is Dialect.OPENMETRICS
        histograms = cast("Iterable[tuple[tuple[str, ...], StallHistogram]]", samples)
        lines = [
            _histogram(metric, first + _pairs(names, labels, led), histogram, exemplars)
            for labels, histogram in histograms
        ]
        return "".join(lines).encode()
    numbers = cast("Iterable[tuple[tuple[str, ...], float]]", samples)
    begin, end = (f"{metric.name}{{{first}", "}") if first or names else (metric.name, "")
    lines = [
        # Nearly all of the tens of thousands of values have the type int.
        f"{begin}{_pairs(names, labels, led)}{end} {value if type(value) is int else _number(value)}\n"
        for labels, value in numbers
    ]
    return "".join(lines).encode()


def _pairs(names: tuple[str, ...], values: tuple[str, ...], led: bool) -> str:
    """Label pairs as text; ``led``: after others, so with a comma before them."""
    written = _cached_pairs if sum(map(len, values)) <= CACHED_CHARACTERS_MAX else _written_pairs
    return written(names, values, led)


def _written_pairs(names: tuple[str, ...], values: tuple[str, ...], led: bool) -> str:
    if len(names) != len(values):
        raise ValueError(f"{len(values)} values for the labels {', '.join(names)}")
    pairs = ",".join([f'{name}="{_value(value)}"' for name, value in zip(names, values, strict=True)])
    return f",{pairs}" if led and pairs else pairs


_cached_pairs = functools.lru_cache(PAIRS_MAX)(_written_pairs)


def has_exemplars(samples: Values) -> bool:
    """Return whether any sample has exemplars; if so, its text differs between OpenMetrics and the plain format."""
    return any(isinstance(value, StallHistogram) and value.exemplars for _, value in samples)


def _histogram(metric: Metric, pairs: str, histogram: StallHistogram, exemplars: bool) -> str:
    totals = tuple(itertools.accumulate(histogram.counts))
    template = _histogram_template(metric, bool(pairs))
    text = (template % (*totals, _number(histogram.sum_seconds), totals[-1])).replace(_PAIRS, pairs)
    if not (exemplars and histogram.exemplars):
        return text
    lines = text.split("\n")
    for index, exemplar in histogram.exemplars.items():
        lines[index] = f"{lines[index]} {_exemplar(exemplar)}"
    return "\n".join(lines)


@functools.cache
def _histogram_template(metric: Metric, labelled: bool) -> str:
    """Return the lines of a histogram, for ``%`` with its numbers, with `_PAIRS` in place of the label pairs."""
    comma, braced = (f"{_PAIRS},", f"{{{_PAIRS}}}") if labelled else ("", "")
    bounds = [f'{metric.name}_bucket{{{comma}le="{_number(bound)}"}} %s\n' for bound in (*metric.buckets, math.inf)]
    return "".join((*bounds, f"{metric.name}_sum{braced} %s\n", f"{metric.name}_count{braced} %s\n"))


def _exemplar(exemplar: Exemplar) -> str:
    seconds, at = _number(exemplar.seconds), _number(exemplar.timestamp_ms / 1000)
    labels = f'event_id="{_escape(exemplar.event_id)}",trace_id="{trace_id(*exemplar.trace)}"'
    return f"# {{{labels}}} {seconds} {at}"


def _line(name: str, pairs: str, value: float) -> str:
    return f"{name}{{{pairs}}} {_number(value)}\n" if pairs else f"{name} {_number(value)}\n"


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def _value(name: str) -> str:
    """Return a name as a label value; a name that is too long is shortened before it is escaped."""
    return _escape(short_name(name))


def _escape(value: str) -> str:
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return value
    return visible(value).translate(_ESCAPES)
