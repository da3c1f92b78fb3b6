"""Renders the kinds of charts in a report: each function takes plain numbers and returns one SVG picture."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from rebalance_agent.ui.svg.canvas import MARGIN_LEFT, Canvas, Scale, nice_ticks
from rebalance_agent.ui.words import WEEKDAYS, rounded_duration

__all__ = [
    "LABELS_WIDTH",
    "NARROW",
    "WIDE",
    "Bar",
    "Stack",
    "bars",
    "heat_map",
    "hour_name",
    "lanes",
    "spark",
    "stacks",
    "week",
]

WIDE = 1_080.0
"""Width of a picture over the whole page."""

NARROW = 520.0
"""Width of a picture over half of the page."""

LABELS_WIDTH = 190.0
"""Width of the names of groups or members at the left of a picture over the whole page."""

HEATS = 8
"""Number of shades in a heat map, from a value above 0 to the maximum."""

_TOP, _BOTTOM = 14.0, 26.0
_LABEL_PIXELS = 6.6  # width of one character of a label


@dataclass(frozen=True, slots=True)
class Stack:
    """One stacked column. ``layers``: (CSS class, value, tooltip), from the bottom up; ``label``: text below it.

    ``mark``: a second value, shown as a stroke across the column, with the tooltip ``mark_tip``.
    """

    label: str
    layers: Sequence[tuple[str, float, str]]
    mark: float | None = None
    mark_tip: str = ""


@dataclass(frozen=True, slots=True)
class Bar:
    """One horizontal bar. ``words``: the value as text; ``kind``: CSS class; ``tip``: tooltip; ``note``: inner text."""

    label: str
    value: float
    words: str
    kind: str
    tip: str = ""
    note: str = ""


def stacks(
    columns: Sequence[Stack],
    words: tuple[str, str],
    *,
    cap: float | None = None,
    width: float = WIDE,
    numbers: Callable[[float], str] | None = None,
) -> str:
    """Render stacked columns of seconds. ``words``: title and description. ``cap``: higher columns are cut off.

    ``numbers``: formats the values at the axis; by default they are formatted as durations.
    """
    canvas = Canvas(width, 260)
    bottom, right = canvas.height - _BOTTOM, canvas.width - 6
    totals = [sum(layer[1] for layer in each.layers) for each in columns]
    highest = max([*totals, *(each.mark or 0 for each in columns)], default=0)
    ticks = nice_ticks(min(highest, cap) if cap else highest, seconds=numbers is None)
    up = Scale(0, ticks[-1], bottom, _TOP)
    canvas.y_axis(up, ticks, numbers or (lambda seconds: rounded_duration(seconds, ticks[-1])), right)
    step = (right - MARGIN_LEFT) / max(1, len(columns))
    column_width = max(1.0, min(step * 0.8, 34.0))
    for index, (column, total) in enumerate(zip(columns, totals, strict=True)):
        left, below = MARGIN_LEFT + index * step + (step - column_width) / 2, 0.0
        for kind, amount, tip in column.layers:
            if amount > 0:
                y, base = up(below + amount), up(below)
                canvas.rect(left, y, column_width, max(base - y, 0.6), kind, tip)
                below += amount
        if total > ticks[-1]:
            middle = left + column_width / 2
            canvas.path([(middle - 4, _TOP - 2), (middle, _TOP - 9), (middle + 4, _TOP - 2)], "cut")
        if column.mark is not None:
            canvas.rect(left - 1.5, up(column.mark) - 1, column_width + 3, 2, "mark", column.mark_tip)
    canvas.x_labels(
        ((MARGIN_LEFT + (index + 0.5) * step, each.label) for index, each in enumerate(columns) if each.label),
        canvas.height - 8,
    )
    return canvas.svg(*words)


def bars(rows: Sequence[Bar], words: tuple[str, str], *, width: float = NARROW, reference: float | None = None) -> str:
    """Render horizontal bars with labels above them. ``reference``: a value to compare with, shown as a dashed line."""
    height, top = 38.0, 6.0
    canvas = Canvas(width, top + len(rows) * height + 4)
    along = Scale(0, max([*(each.value for each in rows), reference or 0], default=1) or 1, 0, width - 4)
    for index, bar in enumerate(rows):
        y = top + index * height
        characters_max = int((width - 8) / _LABEL_PIXELS) - len(bar.words) - 2
        canvas.text(0, y + 12, bar.label, "label", limit=characters_max)
        canvas.text(width - 4, y + 12, bar.words, "value", anchor="end")
        canvas.rect(0, y + 18, width - 4, 12, "track")
        canvas.rect(0, y + 18, max(along(bar.value), 1.5 if bar.value else 0), 12, bar.kind, bar.tip)
        if bar.note:
            canvas.text(6, y + 28, bar.note, "note")
    if reference:
        x = along(reference)
        canvas.line(x, top + 10, x, top + len(rows) * height, "reference")
    return canvas.svg(*words)


def heat_map(
    rows: Sequence[tuple[str, Sequence[tuple[float, str]]]],
    columns: Sequence[str],
    words: tuple[str, str],
    *,
    size: tuple[float, float],
    left: float,
    numbers: Callable[[float], str] | None = None,
    head: Sequence[tuple[str, str]] = (),
) -> str:
    """Render rows of cells (value, tooltip), darker for larger values; a negative value is an empty cell.

    ``numbers``: formats the values that are written into cells wide enough for them. ``head``: (CSS class, tooltip) for
    each column, shown as a strip above the rows.
    """
    canvas = Canvas(*size)
    top, bottom = (24.0 if head else 4.0), size[1] - 20
    value_max = max((value for _, cells in rows for value, _ in cells), default=0.0)
    wide, high = (size[0] - left - 2) / max(1, len(columns)), (bottom - top) / max(1, len(rows))
    gap = 1.0 if wide > 5 else 0.3  # noqa: PLR2004 - units of the picture
    for index, (kind, tip) in enumerate(head):
        canvas.rect(left + index * wide, 6, wide - gap, 10, kind, tip)
    for line, (label, cells) in enumerate(rows):
        y = top + line * high
        canvas.text(left - 7, y + high / 2 + 4, label, "tick", anchor="end", limit=int((left - 8) / _LABEL_PIXELS))
        for index, (value, tip) in enumerate(cells):
            if value < 0:
                continue
            shade = _shade(value, value_max)
            canvas.rect(left + index * wide, y, wide - gap, high - 1, f"h{shade}", tip)
            if numbers and value and wide >= 5.8 * len(written := numbers(value)) + 2:
                kind = "cell dark" if shade > HEATS // 2 else "cell"
                canvas.text(left + (index + 0.5) * wide - gap / 2, y + high / 2 + 4, written, kind, anchor="middle")
    canvas.x_labels(((left + (index + 0.5) * wide, label) for index, label in enumerate(columns) if label), size[1] - 6)
    return canvas.svg(*words)


def hour_name(hour_of_week: int) -> str:
    """Return an hour of the week (0: Monday, 00:00) as ``Mon 00:00``."""
    return f"{WEEKDAYS[hour_of_week // 24]} {hour_of_week % 24:02}:00"


def week(values: Mapping[int, tuple[float, str]], words: tuple[str, str]) -> str:
    """Render a week as a heat map: a row for each day; ``values``: value and tooltip of each hour of the week."""
    cells = {hour: (value, f"{hour_name(hour)}: {tip}") for hour, (value, tip) in values.items()}
    rows = [
        (name, [cells.get(line * 24 + hour, (0.0, "")) for hour in range(24)]) for line, name in enumerate(WEEKDAYS)
    ]
    hours = [f"{hour:02}" if hour % 3 == 0 else "" for hour in range(24)]
    return heat_map(rows, hours, words, size=(NARROW, 200), left=40)


def lanes(
    rows: Sequence[tuple[str, Sequence[tuple[float, float, str]]]],
    ticks: Sequence[tuple[float, str]],
    words: tuple[str, str],
) -> str:
    """Render a timeline for each row, with discs: (position 0 to 1, weight 0 to 1, tooltip)."""
    high, left = 24.0, LABELS_WIDTH
    canvas = Canvas(WIDE, len(rows) * high + 30)
    along = Scale(0, 1, left + 8, WIDE - 10)
    bottom = len(rows) * high + 4
    for position, _ in ticks:
        canvas.line(along(position), 2, along(position), bottom, "grid")
    for line, (label, discs) in enumerate(rows):
        y = 4 + (line + 0.5) * high
        canvas.text(left - 8, y + 4, label, "tick", anchor="end", limit=int((left - 10) / _LABEL_PIXELS))
        canvas.line(left, y, WIDE - 4, y, "lane")
        for position, weight, tip in discs:
            canvas.dot(along(position), y, 3 + 7 * weight**0.5, "disc", tip)
    canvas.x_labels(((along(position), label) for position, label in ticks), bottom + 20)
    return canvas.svg(*words)


def spark(values: Sequence[float]) -> str:
    """Render a sparkline for a table row; empty if all values are 0. Screen readers skip it: it adds no facts."""
    if not any(values):
        return ""
    step, value_max = 96 / len(values), max(values)
    tops = "".join(f"V{19 - 18 * value / value_max:.1f}H{(index + 1) * step:.1f}" for index, value in enumerate(values))
    return (
        f'<svg viewBox="0 0 96 20" class="sparkline" aria-hidden="true"><path d="M0 20{tops}V20" class="spark"/></svg>'
    )


def _shade(value: float, value_max: float) -> int:
    """Return the shade of a value, 0 to `HEATS`, from its square root, so that small values differ visibly."""
    if value <= 0 or value_max <= 0:
        return 0
    return max(1, min(HEATS, round(HEATS * math.sqrt(value / value_max))))
