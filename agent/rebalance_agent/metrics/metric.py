"""Defines a metric as a frozen row of data, from which exported text, registries and documentation are made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

__all__ = ["ExporterRole", "Metric", "MetricType"]


class MetricType(StrEnum):
    """Prometheus' metric types. ``info`` is a gauge that is always 1; its labels carry the information."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    INFO = "info"


class ExporterRole(StrEnum):
    """The process that exports a metric; ``agent`` means every process. A row belongs to exactly one role."""

    OBSERVER = "observer"
    SIDECAR = "sidecar"
    GATEWAY = "gateway"
    AGENT = "agent"


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """One row of the catalogue. Rows are compared by identity, because each row exists once.

    ``name``: the name on /metrics, with ``_total`` or ``_info``. ``unit``: the unit of the values; may be empty.
    ``values``: label -> its fixed set of values, for labels that have one. ``buckets``: a histogram's upper bounds.
    """

    name: str
    kind: MetricType
    role: ExporterRole
    help: str
    labels: tuple[str, ...] = ()
    unit: str = ""
    values: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    buckets: tuple[float, ...] = ()
