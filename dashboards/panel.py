"""What a panel is: a question, the queries that answer it, and how the answer is shown. Plain values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum

from dashboards.query import Query

__all__ = ["BAD", "GOOD", "NEUTRAL", "WARN", "Column", "Link", "Look", "Panel", "Steps", "above", "below"]

GOOD, WARN, BAD, NEUTRAL = "green", "orange", "red", "blue"

Steps = tuple[tuple[float | None, str], ...]
"""Thresholds: from each value on its colour; the first has no value."""

PLAIN: Steps = ((None, NEUTRAL),)
"""Nothing is good or bad about it. Without steps of its own a panel gets Grafana's: red from 80 on."""


def above(warn: float | None = None, bad: float | None = None) -> Steps:
    """The more the worse."""
    return ((None, GOOD), *(((warn, WARN),) if warn is not None else ()), *(((bad, BAD),) if bad is not None else ()))


def below(bad: float, warn: float) -> Steps:
    """The less the worse: red below ``bad``, orange below ``warn``."""
    return ((None, BAD), (bad, WARN), (warn, GOOD))


class Look(StrEnum):
    """How the answer is shown; the value is Grafana's name of what shows it, before a ``/``."""

    NUMBER = "stat"
    LINES = "timeseries"
    COUNTS = "timeseries/bars"
    AREAS = "timeseries/areas"
    DOTS = "timeseries/dots"
    BARS = "bargauge"
    STATES = "state-timeline"
    TABLE = "table"


@dataclass(frozen=True, slots=True)
class Link:
    """Where a click leads: ``url`` with Grafana's variables."""

    title: str
    url: str


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table: ``field`` as it comes (``Value #A``, a label's name), and its heading and looks."""

    field: str
    heading: str
    unit: str = "string"
    decimals: int | None = None
    thresholds: Steps = ()
    link: Link | None = None
    width: int | None = None


@dataclass(frozen=True, slots=True)
class Panel:
    """``number`` is its id for ever, for links and bookmarks. ``question`` is what it answers, and how to read it.

    ``empty``: what is said when there is nothing to show, which is often good news. ``step``: the shortest distance of
    points, for counts, whose windows would overlap without it.
    """

    number: int
    title: str
    question: str
    queries: tuple[Query, ...]
    look: Look = Look.LINES
    unit: str = "short"
    width: int = 8
    thresholds: Steps = PLAIN
    empty: str = "No data"
    decimals: int | None = None
    least: float | None = 0
    most: float | None = None
    step: str = ""
    mappings: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    """Value -> text and colour."""

    columns: tuple[Column, ...] = ()
    sort_by: str = ""
    """Heading of the column that a table is sorted by, highest first."""

    links: tuple[Link, ...] = ()
    colours: Mapping[str, str] = field(default_factory=dict)
    """Name in the legend -> colour, where it means something."""
