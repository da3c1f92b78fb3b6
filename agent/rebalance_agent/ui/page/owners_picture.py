"""Draws owners as SVG: one row per member over time, shaded by its number of partitions; gaps are stalls. Pure.

Time is not to scale: a group may rebalance ten times in a minute and then not for a day.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.group import RebalanceProtocol
from rebalance_agent.tracking.views import RunningRebalance
from rebalance_agent.ui.page.timeline_columns import COLUMNS_MAX, TimelineColumn
from rebalance_agent.ui.svg.canvas import Canvas, Scale
from rebalance_agent.ui.svg.pieces import trigger_class, trigger_name
from rebalance_agent.ui.words import (
    DASH,
    TIMES,
    moment_to_second,
    plural,
    shortened,
    stall_text,
    stalled_partitions_text,
)

__all__ = ["SIGNS", "SLIM", "WIDE", "PictureLayout", "member_rows", "picture"]

SIGNS = {
    Trigger.GROUP_STARTED: "▸",
    Trigger.MEMBER_FAILED: TIMES,
    Trigger.MEMBER_LEFT: DASH,
    Trigger.MEMBER_GONE: DASH,
    Trigger.MEMBER_REPLACED: "↻",
    Trigger.MEMBER_JOINED: "+",
    Trigger.SUBSCRIPTION_CHANGED: "s",
    Trigger.ASSIGNOR_CHANGED: "a",
    Trigger.TOPICS_CHANGED: "t",
    Trigger.PARTITIONS_CHANGED: "p",
    Trigger.RACKS_CHANGED: "r",
    Trigger.REJOIN: "=",
    Trigger.UNKNOWN: "?",
}
"""The character of each trigger, so that triggers can be distinguished without colours."""


@dataclass(frozen=True, slots=True)
class PictureLayout:
    """Measures of a picture in SVG units, and bounds of its content.

    ``columns``, ``rows``: maximum numbers of rebalances (the last ones) and members to draw. ``letters``: maximum
    characters of a name. ``left``: width for names before the bars; ``over``: height for names above the bars (one of
    the two is 0). ``now``: width for a running rebalance. ``first_label``: minimum distance of a time label from the
    start of the bars. ``skew``: whether to draw the curve of the skew.
    """

    width: float
    left: float
    over: float
    now: float
    first_label: float
    letters: int
    columns: int
    rows: int
    skew: bool


WIDE = PictureLayout(1_080.0, 172.0, 0.0, 44.0, 26.0, 24, columns=COLUMNS_MAX, rows=60, skew=True)
"""Layout for wide screens. With more rows, a row would be lower than a letter."""

SLIM = PictureLayout(300.0, 0.0, 15.0, 24.0, 36.0, 40, columns=8, rows=24, skew=False)
"""Layout for phones, or a page at a high zoom level: names are above their bars, so that no scrolling is needed."""

_TOP, _SKEW, _BELOW = 34.0, 46.0, 24.0
_MARK = 14.0
_GAP_SHARE = 0.45  # share of the width that all gaps together may take
_SHADES = (1, 2, 3, 4, 6, 8)  # those of the eight shades in page.css on which a number is readable
_TALL, _ROWS_TALL, _LOW = 20.0, 24, 12.0  # rows are no lower than a letter, so that names do not overlap
_DIGIT = 6.2


@dataclass(frozen=True, slots=True)
class _ColumnSpan:
    """Horizontal coordinates of a column: the gap is from ``gap`` to ``start``, the bars from ``start`` to ``end``."""

    gap: float
    start: float
    end: float


class _RowLayout:
    """Vertical coordinates of the rows: ``tops`` and ``height`` of the bars; ``bottom`` is below the last row."""

    def __init__(self, rows: int, over: float) -> None:
        tall = min(_TALL, max(_LOW, _TALL * _ROWS_TALL / rows))
        self.height = tall - 2
        self.tops = [_TOP + row * (tall + over) + over + 1 for row in range(rows)]
        self.bottom = _TOP + (tall + over) * rows


def member_rows(columns: Sequence[TimelineColumn], layout: PictureLayout) -> tuple[list[str], int]:
    """Return the names of the members to draw, in the order in which they joined, and the number of all others."""
    presence: Counter[str] = Counter()
    for column in columns:
        presence.update(column.held.keys())
    latest = columns[-1].held
    chosen = sorted(presence, key=lambda member: (member not in latest, -presence[member], member))[: layout.rows]
    joined = {member: next(index for index, each in enumerate(columns) if member in each.held) for member in chosen}
    beyond = len(presence) - len(chosen) + max(column.members - len(column.held) for column in columns)
    return sorted(chosen, key=lambda member: (joined[member], member)), beyond


def picture(
    columns: Sequence[TimelineColumn], running: RunningRebalance | None, layout: PictureLayout, title: str
) -> str:
    """Return the picture as SVG. ``columns``: oldest first, at most ``layout.columns``, with at least one member."""
    members, _ = member_rows(columns, layout)
    rows, spans = _RowLayout(len(members), layout.over), _column_spans(columns, layout, running=running is not None)
    skewed = layout.skew and any(column.skew_ratio is not None for column in columns)
    canvas = Canvas(layout.width, rows.bottom + (_SKEW if skewed else 0) + _BELOW)
    drawing = _Drawing(canvas, layout, members, rows, tuple(zip(columns, spans, strict=True)))
    drawing.names()
    drawing.gaps()
    drawing.bars()
    if running:
        tip = f"rebalancing since {moment_to_second(running.started_ms)}: {stalled_partitions_text(running)}"
        canvas.rect(spans[-1].end, _TOP, layout.now - 6, rows.bottom - _TOP, "running", tip, _row(0))
    if skewed:
        drawing.skew()
    canvas.x_labels(drawing.times(), canvas.height - 6)
    words = f"{plural(len(members), 'member')} over {plural(len(columns), 'rebalance')}; use the arrow keys for details"
    return canvas.svg(title, words, " data-rows")


def _column_spans(columns: Sequence[TimelineColumn], layout: PictureLayout, *, running: bool) -> list[_ColumnSpan]:
    width = layout.width - layout.left - (layout.now if running else 8)
    gaps = [_gap(column) for column in columns]
    squeeze = min(1.0, width * _GAP_SHARE / (sum(gaps) or 1))
    gaps = [gap * squeeze for gap in gaps]
    weights = [_weight(column, columns[index + 1 :][:1]) for index, column in enumerate(columns)]
    unit = (width - sum(gaps)) / sum(weights)
    spans, x = [], layout.left
    for gap, weight in zip(gaps, weights, strict=True):
        spans.append(_ColumnSpan(x, x + gap, x + gap + weight * unit))
        x = spans[-1].end
    return spans


def _gap(column: TimelineColumn) -> float:
    if column.stall is None:
        return 4.0
    seconds = column.stall.lower_seconds if column.stall.seconds is None else column.stall.seconds
    return 3.0 + 12.0 * math.log10(1 + 4 * seconds) if seconds else 2.0


def _weight(column: TimelineColumn, after: Sequence[TimelineColumn]) -> float:
    """Return the column's relative width; the last column is still open, so its width is fixed."""
    if not after:
        return 3.0
    ends = after[0].started_ms if after[0].started_ms is not None else after[0].at_ms
    return 1.0 + math.log10(1 + max(0, ends - column.at_ms) / 1000)


@dataclass(frozen=True, slots=True)
class _Drawing:
    """The parts drawn on ``canvas``: the ``members`` in their ``rows``, and the columns with their coordinates."""

    canvas: Canvas
    layout: PictureLayout
    members: Sequence[str]
    rows: _RowLayout
    columns: Sequence[tuple[TimelineColumn, _ColumnSpan]]

    def names(self) -> None:
        """Draw the members' names, before or above their rows."""
        for top, member in zip(self.rows.tops, self.members, strict=True):
            shown = _end_of(member, self.layout.letters)
            if self.layout.over:
                self.canvas.text(0, top - 4, shown, "tick")
            else:
                self.canvas.text(self.layout.left - 8, top + self.rows.height / 2 + 4, shown, "tick", anchor="end")

    def gaps(self) -> None:
        """Draw each rebalance: the gap of its stall, and the mark of its trigger."""
        bands = [(_TOP, self.rows.bottom - _TOP)]
        if self.layout.over:  # names would be hard to read on a gap's colour
            bands = [(top, self.rows.height) for top in self.rows.tops]
        for column, span in self.columns:
            for top, high in bands:
                self.canvas.rect(span.gap, top, span.start - span.gap, high, "stall")
            middle = max(self.layout.left + _MARK / 2, (span.gap + span.start) / 2)
            kind = f"{trigger_class(column.trigger)} trigger"
            self.canvas.rect(middle - _MARK / 2, 8, _MARK, _MARK, kind, _summary(column), _row(0))
            self.canvas.text(middle, 19, SIGNS[column.trigger], "sign", anchor="middle")

    def bars(self) -> None:
        """Draw the number of partitions that each member owned after each rebalance."""
        columns = [column for column, _ in self.columns]
        partitions_max = max((held.partitions for column in columns for held in column.held.values()), default=0)
        for row, (member, y) in enumerate(zip(self.members, self.rows.tops, strict=True), 1):
            for before, (column, span) in zip([None, *columns], self.columns, strict=False):
                held = column.held.get(member)
                if held is None:
                    continue
                shade, wide, high = _shade(held.partitions, partitions_max), span.end - span.start, self.rows.height
                if _kept_consuming(column, before, member):
                    self.canvas.rect(span.gap - 0.2, y, span.start - span.gap + 0.4, high, f"h{shade}")
                tip = f"{shortened(member, 60)}: {plural(held.partitions, 'partition')} {_when(column)}"
                self.canvas.rect(span.start, y, wide - 0.4, high, f"h{shade}", tip, _row(row))
                had, written = before.held.get(member) if before else None, str(held.partitions)
                changed = had is None or had.partitions != held.partitions
                if changed and wide >= _DIGIT * len(written) + 4:
                    self.canvas.text(span.start + 3, y + high / 2 + 4, written, f"cell n{shade}")

    def skew(self) -> None:
        """Draw the curve of the skew below the rows."""
        top, left = self.rows.bottom, self.layout.left
        skew_max = max(1.5, *(column.skew_ratio or 1 for column, _ in self.columns))
        up = Scale(1, skew_max, top + _SKEW - 8, top + 12)
        for value in (1.0, skew_max):
            self.canvas.line(left, up(value), self.columns[-1][1].end, up(value), "zero" if value == 1 else "grid")
            words = f"skew {value:.2g}" if value == 1 else f"{value:.2g}"
            self.canvas.text(left - 8, up(value) + 4, words, "tick", anchor="end")
        with_skew = [(column, span) for column, span in self.columns if column.skew_ratio is not None]
        points = [(x, up(column.skew_ratio or 1)) for column, span in with_skew for x in (span.start, span.end)]
        self.canvas.path(points, "skew")
        for column, span in with_skew:
            tip = f"skew {column.skew_ratio:.2f} {_when(column)}"
            self.canvas.dot(span.start, up(column.skew_ratio or 1), 2.4, "skew-dot", tip, _row(len(self.members) + 1))

    def times(self) -> Iterator[tuple[float, str]]:
        """Yield (x, time) labels of the columns; a label has the date if the date differs from the previous label's."""
        day = ""
        for column, span in self.columns:
            text, x = moment_to_second(column.at_ms), max(span.start, self.layout.left + self.layout.first_label)
            yield x, text[11:19] if text[:10] == day else text[5:16]
            day = text[:10]


def _kept_consuming(column: TimelineColumn, before: TimelineColumn | None, member: str) -> bool:
    """Return whether the member consumed during the rebalance: it kept its partitions, and was not eager."""
    if before is None or column.protocol is RebalanceProtocol.EAGER or column.previous != before.last:
        return False
    return column.held.get(member) == before.held.get(member)


def _summary(column: TimelineColumn) -> str:
    stall = stall_text(column.stall) if column.stall else "unknown"
    skew = "" if column.skew_ratio is None else f", skew {column.skew_ratio:.2f}"
    moved = "unknown moves" if column.moved is None else f"{plural(column.moved, 'partition')} moved"
    return (
        f"{moment_to_second(column.at_ms)}, generation {column.last:,}: {trigger_name(column.trigger)}; "
        f"longest stall {stall}, {moved}, {plural(column.members, 'member')}{skew}"
    )


def _when(column: TimelineColumn) -> str:
    return f"from generation {column.last:,} on, {moment_to_second(column.at_ms)}"


def _end_of(label: str, characters_max: int) -> str:
    """Return the last characters of a name: names of one group's members differ at their ends."""
    return label if len(label) <= characters_max else "…" + label[-characters_max + 1 :]


def _shade(value: int, value_max: int) -> int:
    if value <= 0:
        return 0
    return _SHADES[min(len(_SHADES) - 1, round((len(_SHADES) - 1) * value / value_max))]


def _row(number: int) -> str:
    return f' data-r="{number}"'
