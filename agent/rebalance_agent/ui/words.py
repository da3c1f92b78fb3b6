"""Writes durations, moments, counts and names as text, for pages, reports and terminals. Pure.

Text from outside must pass `escaped` before it is put into HTML or SVG, and `printable` before it is written to a
terminal. There are two formats for durations and for unknown values on purpose: in a report's columns and axes, values
are compared at a glance (``3.1 min``, an en dash); sentences and terminals show one value precisely (``3 min 5 s``, a
hyphen).
"""

from __future__ import annotations

import datetime as dt
import html
import re
import textwrap
from collections.abc import Callable, Container, Sequence

from rebalance_agent.model.episode import Stall
from rebalance_agent.tracking.views import RunningRebalance
from rebalance_agent.visible_names import visible

__all__ = [
    "DASH",
    "TIMES",
    "UNKNOWN",
    "WEEKDAYS",
    "ago",
    "amount",
    "bounds_text",
    "count",
    "day",
    "duration",
    "escaped",
    "in_words",
    "listed",
    "minute",
    "moment",
    "moment_to_second",
    "partition_seconds",
    "partition_seconds_text",
    "percent",
    "plural",
    "printable",
    "rounded_duration",
    "share",
    "shortened",
    "span",
    "stall_text",
    "stalled_partitions_text",
    "table_text",
    "time_of_day",
    "unowned",
    "wrapped",
]

UNKNOWN = "-"
"""Text for an unknown value in a sentence or on a terminal."""

DASH = "\u2013"
"""En dash: text for an unknown value in HTML and SVG."""

TIMES = "\u00d7"
"""Multiplication sign."""

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
"""Short names, Monday first, as `datetime.weekday` counts."""

NAME_CHARACTERS_MAX = 120
"""Maximum number of characters of a name to show; a name in Kafka may have 32,767 characters."""

LISTED_MAX = 8
"""Maximum number of names in a list within a sentence."""

LINE_CHARACTERS = 100
"""Width of wrapped text, in characters, which fits on any usual terminal."""

_UNSHOWABLE = re.compile("[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
_MINUTE, _HOUR, _DAY = 60, 3_600, 86_400
_UNITS = (("ms", 0.001, 1.0), ("s", 1.0, 120.0), ("min", 60.0, 7_200.0), ("h", 3_600.0, 172_800.0))
"""Unit, its length in seconds, and the duration (seconds) from which the next unit is used."""
_NO_BREAK = "\u00a0"  # keeps a number and its unit on one line
_SHORT, _PERCENT = 10, 100


def escaped(text: object) -> str:
    """Escape ``text`` for use between tags and in quoted attributes; control characters are replaced."""
    return html.escape(_UNSHOWABLE.sub("\N{REPLACEMENT CHARACTER}", visible(str(text))), quote=True)


def printable(text: str) -> str:
    """Return ``text`` on one line, with characters that could control a terminal written as escapes."""
    return "".join(
        character if character.isprintable() else character.encode("unicode_escape", "surrogatepass").decode("ascii")
        for character in visible(text)
    )


def shortened(text: str, characters_max: int = NAME_CHARACTERS_MAX) -> str:
    """Return ``text`` cut to ``characters_max``, with an ellipsis. Not escaped."""
    return text if len(text) <= characters_max else text[: characters_max - 1] + "…"


_IN_AMOUNT = re.compile(r"(?<=\d) (?:/ )?(?=(?:ms|s|min|h|d)\b)|(?:(?<=\d min)|(?<=\d h)) (?=\d)")
"""The spaces between a number and its unit, and between two units: ``6.2 s``, ``3 min 5 s``, ``3.8 / s``."""

_KEPT = "\0"
"""Placeholder for a space without a line break; no text contains it, since `printable` replaces it."""


def wrapped(text: str, indent: str = "") -> str:
    """Wrap ``text`` into lines of `LINE_CHARACTERS`; words, which users copy, and numbers with units stay whole."""
    lines = textwrap.fill(
        _IN_AMOUNT.sub(lambda spaces: spaces[0].replace(" ", _KEPT), text),
        LINE_CHARACTERS,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return lines.replace(_KEPT, " ")


def plural(number: int, noun: str, form: str = "") -> str:
    """Return ``1 member`` or ``2 members``; with the ``form`` of numbers ``,``: ``2,000 members``."""
    return f"{number:{form}} {noun}" if number == 1 else f"{number:{form}} {noun}s"


def unowned(partitions: int) -> str:
    """Return ``1 partition has no owner`` or ``2 partitions have no owner``."""
    return f"{plural(partitions, 'partition')} {'has' if partitions == 1 else 'have'} no owner"


def listed(names: Sequence[str], names_max: int = LISTED_MAX) -> str:
    """Return ``a, b and c``; if there are more than ``names_max``, the first names and the number of the others."""
    if len(names) > names_max:
        return f"{', '.join(names[: names_max - 1])} and {len(names) - names_max + 1} more"
    return " and ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else list(names))


def count(value: float | None) -> str:
    """Return a whole number with thousands separators, or `DASH`."""
    return DASH if value is None else f"{value:,.0f}"


def amount(value: float) -> str:
    """Return partition-seconds or hours: ``83,214``; with a decimal below ten: ``4.2``; or ``0``."""
    return partition_seconds(value) if 0 < value < 10 else count(value)  # noqa: PLR2004 - two digits


def partition_seconds(value: float) -> str:
    """Return partition-seconds with one decimal, or three if one would show a positive value as 0: ``0.036``."""
    text = f"{value:,.1f}"
    return f"{value:.3f}" if text == "0.0" and value >= 0.0005 else text  # noqa: PLR2004 - half a millisecond


def share(part: float, whole: float) -> float:
    """Return ``part / whole``; 0 if ``whole`` is 0."""
    return part / whole if whole else 0.0


def percent(part: float | None, digits: int = 1) -> str:
    """Return a share of 1 as a percentage, or `DASH`; it has more ``digits`` if it would otherwise round to 100 %."""
    if part is None:
        return DASH
    value = part * 100
    while digits < 4 and value < _PERCENT and f"{value:.{digits}f}" == f"{100:.{digits}f}":  # noqa: PLR2004 - 99.9999 %
        digits += 1
    return f"{value:.{digits}f}{_NO_BREAK}%"


def duration(seconds: float) -> str:
    """Return a duration in up to two units, for sentences: ``210 ms``, ``6.2 s``, ``3 min 5 s``, ``2 h 10 min``."""
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < _MINUTE:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), _MINUTE)
    if minutes < 60:  # noqa: PLR2004 - minutes of an hour
        return f"{minutes} min {rest} s"
    return f"{minutes // 60} h {minutes % 60} min"


def rounded_duration(seconds: float | None, unit_of: float | None = None) -> str:
    """Return a duration in one unit, for columns and axes: ``850 ms``, ``4.2 s``, ``12 min``, ``5.0 d``; or `DASH`.

    ``unit_of``: a duration in seconds whose unit is used, so that all values of an axis have the same unit.
    """
    if seconds is None:
        return DASH
    for unit, length, seconds_max in _UNITS:
        if (seconds if unit_of is None else unit_of) < seconds_max:
            return _with_unit(seconds / length, unit)
    return _with_unit(seconds / _DAY, "d")


def _with_unit(value: float, unit: str) -> str:
    if not value:
        return "0"
    digits = 1 if value < _SHORT and unit != "ms" else 0
    return f"{value:,.{digits}f}{_NO_BREAK}{unit}"


def ago(now_ms: int, then_ms: int) -> str:
    """Return ``3 min 5 s ago``; a moment after ``now_ms`` (clocks differ) is ``0 s ago``."""
    seconds = max(0, now_ms - then_ms) / 1000
    return f"{duration(round(seconds)) if seconds >= 1 else '0 s'} ago".replace(".0 s", " s")


def moment(at_ms: int) -> str:
    """Return ``2026-11-21 14:02:11.352 UTC``; milliseconds since the epoch if no calendar date has that value."""
    return _formatted(at_ms, f"%Y-%m-%d %H:%M:%S.{at_ms % 1000:03} UTC")


def moment_to_second(at_ms: int) -> str:
    """Return ``2026-11-21 14:02:11 UTC``; milliseconds since the epoch if no calendar date has that value."""
    return _formatted(at_ms, "%Y-%m-%d %H:%M:%S UTC")


def time_of_day(at_ms: int) -> str:
    """Return ``14:02:11``, in UTC; milliseconds since the epoch if no calendar date has that value."""
    return _formatted(at_ms, "%H:%M:%S")


def minute(at: dt.datetime) -> str:
    """Return ``2026-11-21 14:02``, in the time zone of ``at``."""
    return f"{at:%Y-%m-%d %H:%M}"


def day(at: dt.datetime) -> str:
    """Return ``21 Nov``, for axes."""
    return f"{at.day} {at:%b}"


def _formatted(at_ms: int, form: str) -> str:
    try:
        return f"{dt.datetime.fromtimestamp(at_ms / 1000, dt.UTC):{form}}"
    except (ValueError, OverflowError, OSError):
        return f"{at_ms} ms"


def stall_text(stall: Stall | None) -> str:
    """Return ``6.2 s`` if exact; bounds as ``0.2 s - 6.2 s``, ``up to 6.2 s`` or ``0.2 s or more``; or `UNKNOWN`."""
    return UNKNOWN if stall is None else bounds_text(stall.lower_seconds, stall.seconds)


def partition_seconds_text(stall: Stall | None) -> str:
    """Return stalled partition-seconds, summed over partitions: ``8.0``, ``8.0 - 12.5`` or ``8.0 or more``."""
    if stall is None:
        return UNKNOWN
    return bounds_text(stall.partition_seconds, stall.upper_partition_seconds, partition_seconds)


def span(lower_seconds: float | None, upper_seconds: float) -> str:
    """Return ``0.2 s - 6.2 s``: a duration between bounds (see `bounds_text`), or the upper bound alone."""
    return duration(upper_seconds) if lower_seconds is None else bounds_text(lower_seconds, upper_seconds)


def bounds_text(lower: float, upper: float | None, text: Callable[[float], str] = duration) -> str:
    """Format both bounds with ``text``, equal texts once; `UNKNOWN` if the lower bound is 0 and the upper is None.

    A bound alone is never shown as a single number.
    """
    lower_text, zero = text(lower), text(0)
    if upper is None:
        return UNKNOWN if lower_text == zero else f"{lower_text} or more"
    upper_text = text(upper)
    if lower_text == upper_text:
        return upper_text
    return f"up to {upper_text}" if lower_text == zero else f"{lower_text} - {upper_text}"


def in_words(bounds: str) -> str:
    """Return the text ``bounds`` of `bounds_text` in the form for a sentence: ``0.2 s to 6.2 s``."""
    return bounds.replace(" - ", " to ")


def stalled_partitions_text(running: RunningRebalance) -> str:
    """Return how many partitions the running rebalance stalls: ``4 partitions are stalled``, ``up to 4 ...``."""
    stalled_min = running.stalled_partitions
    stalled_max = stalled_min + running.unsure_partitions
    if not stalled_max:
        return "no partition is known to be stalled"
    number = "up to " if not stalled_min else f"{stalled_min} to " if stalled_min < stalled_max else ""
    return f"{number}{plural(stalled_max, 'partition')} {'is' if stalled_max == 1 else 'are'} stalled"


def table_text(headings: Sequence[str], rows: Sequence[Sequence[str]], right: Container[int] = ()) -> str:
    """Return ``rows`` under ``headings`` as aligned text; the columns ``right`` (indexes) are aligned to the right."""
    lines = [headings, *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if index in right else cell.ljust(width)
            for index, (cell, width) in enumerate(zip(line, widths, strict=True))
        ).rstrip()
        for line in lines
    )
