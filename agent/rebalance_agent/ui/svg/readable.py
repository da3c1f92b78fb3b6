"""Numbers and names as people read them, and safe to stand in HTML and SVG."""

from __future__ import annotations

import datetime as dt
import html
import re

__all__ = ["TIMES", "UNKNOWN", "WEEKDAYS", "count", "day", "duration", "escaped", "minute", "name", "percent", "share"]

NAME_MAX = 120
"""Characters of one name that are shown; Kafka's may have 32,767."""

TIMES = "\u00d7"
"""The multiplication sign."""

UNKNOWN = "\u2013"
"""Stands where nobody knows."""

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")

_UNSHOWABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_DAY = 86_400
_NARROW = "\u00a0"  # a number and its unit stay in one line
_SHORT, _FEW = 10, 100


def escaped(text: object) -> str:
    """Text as it may stand between tags and in quoted attributes."""
    return html.escape(_UNSHOWABLE.sub("\N{REPLACEMENT CHARACTER}", str(text)), quote=True)


def name(text: str, most: int = NAME_MAX) -> str:
    """A name as it is shown: not too long. To be escaped like any other text."""
    return text if len(text) <= most else text[: most - 1] + "…"


def duration(seconds: float | None, beside: float | None = None) -> str:
    """A length of time in the unit that fits: ``850 ms``, ``4.2 s``, ``12 min``, ``3.1 h``, ``5.0 d``.

    ``beside``: seconds whose unit it has, too, as all numbers of one axis do.
    """
    if seconds is None:
        return UNKNOWN
    for unit, length, most in (
        ("ms", 0.001, 1.0),
        ("s", 1.0, 120.0),
        ("min", 60.0, 7_200.0),
        ("h", 3_600.0, 172_800.0),
    ):
        if (seconds if beside is None else beside) < most:
            return _with_unit(seconds / length, unit)
    return _with_unit(seconds / _DAY, "d")


def _with_unit(value: float, unit: str) -> str:
    if not value:
        return "0"
    digits = 1 if value < _SHORT and unit != "ms" else 0
    return f"{value:,.{digits}f}{_NARROW}{unit}"


def count(value: float | None) -> str:
    """A number with separators."""
    return UNKNOWN if value is None else f"{value:,.0f}"


def percent(part: float | None, digits: int = 1) -> str:
    """A share as a percentage; as many digits as tell it from 100."""
    if part is None:
        return UNKNOWN
    value = part * 100
    while digits < 4 and value < _FEW and f"{value:.{digits}f}" == f"{100:.{digits}f}":  # noqa: PLR2004 - 99.9999 %
        digits += 1
    return f"{value:.{digits}f}{_NARROW}%"


def share(part: float, whole: float) -> float:
    """``part`` of ``whole``; 0 of nothing."""
    return part / whole if whole else 0.0


def minute(at: dt.datetime) -> str:
    """A moment to the minute, UTC."""
    return f"{at:%Y-%m-%d %H:%M}"


def day(at: dt.datetime) -> str:
    """A day as axes show it."""
    return f"{at.day} {at:%b}"
