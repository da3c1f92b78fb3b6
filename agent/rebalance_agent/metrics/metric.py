"""What a metric is: one frozen row, from which text, registries, documentation and tests are drawn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from types import MappingProxyType

__all__ = ["ExporterRole", "Metric", "MetricType"]


class MetricType(StrEnum):
    """How a metric's values behave. ``info`` is a gauge that is always 1: its labels are what it says."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"
    INFO = "info"


class ExporterRole(StrEnum):
    """Which process exports a metric; ``agent`` stands for all. No metric is shared between two of the others."""

    OBSERVER = "observer"
    SIDECAR = "sidecar"
    GATEWAY = "gateway"
    AGENT = "agent"


@dataclass(frozen=True, slots=True, eq=False)
class Metric:
    """One row of the catalogue. Rows are compared by identity: each exists once.

    ``name`` is the one on the page, with ``_total`` and ``_info``. ``unit`` is that of its values, empty where they
    only count. ``values`` holds the closed set of each label that has one; ``buckets`` are a histogram's upper bounds.
    """

    name: str
    kind: MetricType
    role: ExporterRole
    help: str
    labels: tuple[str, ...] = ()
    unit: str = ""
    values: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}))
    buckets: tuple[float, ...] = ()
