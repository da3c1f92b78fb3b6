"""Defines panels as plain values: a question, its queries, and how the result is shown."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dashboards.parts.query import Query

__all__ = ["BAD", "COUNT", "GOOD", "NEUTRAL", "WARN", "Column", "Link", "Look", "Panel", "Steps", "above", "below"]

GOOD, WARN, BAD, NEUTRAL = "green", "orange", "red", "blue"

Steps = tuple[tuple[float | None, str], ...]
"""Thresholds: (lowest value, colour); the first threshold has no value."""

COUNT = "locale"
"""Grafana's unit for whole numbers with separators; with "short", 1,049 is shown as 1 K."""

PLAIN: Steps = ((None, NEUTRAL),)
"""Thresholds without good or bad values. Without thresholds a panel gets Grafana's default: red from 80."""


def above(warn: float | None = None, bad: float | None = None) -> Steps:
    """Return thresholds for values that are worse if higher: orange from ``warn``, red from ``bad``."""
    return ((None, GOOD), *(((warn, WARN),) if warn is not None else ()), *(((bad, BAD),) if bad is not None else ()))


def below(bad: float, warn: float) -> Steps:
    """Return thresholds for values that are worse if lower: red below ``bad``, orange below ``warn``."""
    return ((None, BAD), (bad, WARN), (warn, GOOD))


class Look(StrEnum):
    """How the result is shown; the part of the value before a ``/`` is Grafana's name of the visualization."""

    NUMBER = "stat"
    LINES = "timeseries"
    COUNTS = "timeseries/bars"
    AREAS = "timeseries/areas"
    DOTS = "timeseries/dots"
    STATES = "state-timeline"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Link:
    """The link that a click opens: ``url`` with Grafana's variables."""

    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: ``field`` is Grafana's name (``Value #A``, or a label), then heading, unit and format."""

    field: str
    heading: str
    unit: str = "string"
    decimals: int | None = None
    thresholds: Steps = ()
    link: Link | None = None
    width: int | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """A panel. ``number``: its permanent id, for links and bookmarks. ``question``: its question, and how to read it.

    ``empty``: the text if there is no data, which is often the good case.
    """

    number: int
    title: str
    question: str
    queries: tuple[Query, ...]
    look: Look = Look.LINES
    unit: str = COUNT
    width: int = 8
    thresholds: Steps = PLAIN
    empty: str = "No data"
    decimals: int | None = None
    least: float | None = 0
    most: float | None = None
    mappings: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Value -> text and colour."""

    columns: tuple[Column, ...] = ()
    sort_by: tuple[str, ...] = ()
    """The headings of the columns by which a table is sorted, highest first."""

    sort_up: tuple[str, ...] = ()
    """The headings of the columns by which the table is sorted first, lowest first."""

    links: tuple[Link, ...] = ()
    colours: Mapping[str, str] = field(default_factory=dict)
    """Name in the legend -> colour, for colours with a meaning."""

    dots: tuple[str, ...] = ()
    """Names of series that are drawn as dots between the bars, and are not stacked with them."""
