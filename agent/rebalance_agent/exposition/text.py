"""The Prometheus text format 0.0.4, written from catalogue rows and samples.

https://prometheus.io/docs/instrumenting/exposition_formats/
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from rebalance_agent.metrics.group_samples import Sample
from rebalance_agent.metrics.metric import Kind, Metric
from rebalance_agent.rebalances.views import StallHistogram

__all__ = ["CONTENT_TYPE", "TextFormat"]

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"

_ESCAPES = str.maketrans({"\\": r"\\", '"': r"\"", "\n": r"\n"})


class TextFormat:
    """Writes headers and samples, with the label ``cluster`` on every sample where a cluster name is set."""

    def __init__(self, cluster: str = "") -> None:
        """``cluster`` empty: no such label."""
        self._first = f'cluster="{_escape(cluster)}"' if cluster else ""

    def header(self, metric: Metric) -> bytes:
        """``# HELP`` and ``# TYPE``, which stand once before all samples of the metric."""
        text = metric.help.replace("\\", r"\\").replace("\n", r"\n")
        kind = Kind.GAUGE if metric.kind is Kind.INFO else metric.kind
        return f"# HELP {metric.name} {text}\n# TYPE {metric.name} {kind}\n".encode()

    def samples(self, metric: Metric, samples: Iterable[Sample]) -> bytes:
        """The samples' lines, in the order given."""
        lines: list[str] = []
        for labels, value in samples:
            pairs = self._pairs(metric.labels, labels)
            if isinstance(value, StallHistogram):
                lines += _histogram(metric, pairs, value)
            else:
                lines.append(_line(metric.name, pairs, value))
        return "".join(lines).encode()

    def lines(self, samples: Iterable[tuple[str, tuple[tuple[str, str], ...], float]]) -> bytes:
        """Lines of (name, label pairs, value), for who knows the parts of a histogram already."""
        return "".join(
            [
                _line(name, self._pairs(tuple(label for label, _ in pairs), tuple(value for _, value in pairs)), number)
                for name, pairs, number in samples
            ]
        ).encode()

    def _pairs(self, names: tuple[str, ...], values: tuple[str, ...]) -> str:
        pairs = ",".join([f'{name}="{_escape(value)}"' for name, value in zip(names, values, strict=True)])
        return f"{self._first},{pairs}" if self._first and pairs else self._first or pairs


def _histogram(metric: Metric, pairs: str, histogram: StallHistogram) -> list[str]:
    lines, total = [], 0
    before = f"{pairs}," if pairs else ""
    for bound, count in zip((*metric.buckets, math.inf), histogram.counts, strict=True):
        total += count
        lines.append(_line(f"{metric.name}_bucket", f'{before}le="{_number(bound)}"', total))
    lines.append(_line(f"{metric.name}_sum", pairs, histogram.sum_seconds))
    lines.append(_line(f"{metric.name}_count", pairs, total))
    return lines


def _line(name: str, pairs: str, value: float) -> str:
    return f"{name}{{{pairs}}} {_number(value)}\n" if pairs else f"{name} {_number(value)}\n"


def _number(value: float) -> str:
    if math.isfinite(value):
        return repr(value)
    return "NaN" if math.isnan(value) else "+Inf" if value > 0 else "-Inf"


def _escape(value: str) -> str:
    if value.isascii() and value.isprintable() and '"' not in value and "\\" not in value:
        return value
    # Lone surrogates (names that were no UTF-8) become visible escapes; nothing else changes.
    return value.encode("utf-8", "backslashreplace").decode().translate(_ESCAPES)
