"""The picture of owners: members by time, coloured by how many partitions each had, stalls as gaps. Pure.

Long quiet times are squeezed: a group rebalances ten times in a minute and then not for a day.
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
from rebalance_agent.ui.page.trouble import standstill
from rebalance_agent.ui.svg.canvas import Canvas, Scale
from rebalance_agent.ui.svg.pieces import trigger_class, trigger_name
from rebalance_agent.ui.words import DASH, TIMES, moment_to_second, plural, shortened, stall_text

__all__ = ["SIGNS", "SLIM", "WIDE", "PictureLayout", "drawn", "rows_of"]

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
    Trigger.REJOIN: "=",
    Trigger.UNKNOWN: "?",
}
"""Told apart without colours, too."""


@dataclass(frozen=True, slots=True)
class PictureLayout:
    """What a picture is drawn on, in units of some pixel each, and the most of it: the last ``columns``, and ``rows``.

    Names have ``letters`` and stand in the ``left`` before their bars, or ``over`` them. ``now``: room at the right for
    a rebalance that runs. ``first_label``: how far from the bars' beginning a time may be. ``skew``: with its line.
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
"""A desk's screen. More members would be lines thinner than a letter."""

SLIM = PictureLayout(300.0, 0.0, 15.0, 24.0, 36.0, 40, columns=8, rows=24, skew=False)
"""A telephone's, or a desk's much enlarged: nothing has to be pushed aside to see whose bar it is."""

_TOP, _SKEW, _BELOW = 34.0, 46.0, 24.0
_MARK = 14.0
_GAP_SHARE = 0.45  # of the width, for all gaps together
_SHADES = (1, 2, 3, 4, 6, 8)  # of the eight heats those on which a number can be read, see page.css
_TALL, _ROWS_TALL, _LOW = 20.0, 24, 12.0  # no lower than a letter, so that names stand clear of each other
_DIGIT = 6.2


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a column is: its gap from ``gap`` to ``begins``, itself to ``ends``."""

    gap: float
    begins: float
    ends: float


class _Lines:
    """Where the members' bars are: each from its place in ``tops`` on, ``high``; all of them end at ``bottom``."""

    def __init__(self, rows: int, over: float) -> None:
        tall = min(_TALL, max(_LOW, _TALL * _ROWS_TALL / rows))
        self.high = tall - 2
        self.tops = [_TOP + row * (tall + over) + over + 1 for row in range(rows)]
        self.bottom = _TOP + (tall + over) * rows


def rows_of(columns: Sequence[TimelineColumn], sheet: PictureLayout) -> tuple[list[str], int]:
    """Members from top to bottom as they came, and how many there are besides."""
    presence: Counter[str] = Counter()
    for each in columns:
        presence.update(each.held.keys())
    latest = columns[-1].held
    chosen = sorted(presence, key=lambda each: (each not in latest, -presence[each], each))[: sheet.rows]
    came = {member: next(place for place, each in enumerate(columns) if member in each.held) for member in chosen}
    beyond = len(presence) - len(chosen) + max(each.members - len(each.held) for each in columns)
    return sorted(chosen, key=lambda each: (came[each], each)), beyond


def drawn(columns: Sequence[TimelineColumn], running: RunningRebalance | None, sheet: PictureLayout, title: str) -> str:
    """The picture as SVG; ``columns`` are oldest first and at most the sheet's, and some member is in them."""
    rows, _ = rows_of(columns, sheet)
    lines, places = _Lines(len(rows), sheet.over), _places(columns, sheet, running=running is not None)
    skewed = sheet.skew and any(each.skew_ratio is not None for each in columns)
    canvas = Canvas(sheet.width, lines.bottom + (_SKEW if skewed else 0) + _BELOW)
    _draw_names(canvas, rows, lines, sheet)
    _draw_gaps(canvas, columns, places, lines, sheet)
    _draw_rows(canvas, columns, places, rows, lines)
    if running:
        tip = f"rebalances since {moment_to_second(running.started_ms)}: {standstill(running)}"
        canvas.rect(places[-1].ends, _TOP, sheet.now - 6, lines.bottom - _TOP, "running", tip, _row(0))
    if skewed:
        _draw_skew(canvas, columns, places, sheet, lines.bottom, len(rows) + 1)
    canvas.x_labels(_times(columns, places, sheet), canvas.height - 6)
    words = f"{plural(len(rows), 'member')} over {plural(len(columns), 'rebalance')}; arrow keys explain it"
    return canvas.svg(title, words, " data-rows")


def _places(columns: Sequence[TimelineColumn], sheet: PictureLayout, *, running: bool) -> list[_Place]:
    room = sheet.width - sheet.left - (sheet.now if running else 8)
    gaps = [_gap(each) for each in columns]
    squeeze = min(1.0, room * _GAP_SHARE / (sum(gaps) or 1))
    gaps = [gap * squeeze for gap in gaps]
    weights = [_weight(each, columns[place + 1 :][:1]) for place, each in enumerate(columns)]
    unit = (room - sum(gaps)) / sum(weights)
    places, x = [], sheet.left
    for gap, weight in zip(gaps, weights, strict=True):
        places.append(_Place(x, x + gap, x + gap + weight * unit))
        x = places[-1].ends
    return places


def _gap(column: TimelineColumn) -> float:
    if column.stall is None:
        return 4.0
    return 3.0 + 12.0 * math.log10(1 + 4 * column.stall.seconds) if column.stall.seconds else 2.0


def _weight(column: TimelineColumn, after: Sequence[TimelineColumn]) -> float:
    """How wide, beside the others; the last one goes on, nobody knows for how long."""
    if not after:
        return 3.0
    ends = after[0].started_ms if after[0].started_ms is not None else after[0].at_ms
    return 1.0 + math.log10(1 + max(0, ends - column.at_ms) / 1000)


def _draw_names(canvas: Canvas, rows: Sequence[str], lines: _Lines, sheet: PictureLayout) -> None:
    for top, member in zip(lines.tops, rows, strict=True):
        shown = _short(member, sheet.letters)
        if sheet.over:
            canvas.text(0, top - 4, shown, "tick")
        else:
            canvas.text(sheet.left - 8, top + lines.high / 2 + 4, shown, "tick", anchor="end")


def _draw_gaps(
    canvas: Canvas, columns: Sequence[TimelineColumn], places: Sequence[_Place], lines: _Lines, sheet: PictureLayout
) -> None:
    bands = [(_TOP, lines.bottom - _TOP)]
    if sheet.over:  # names are not to be read on a gap's colour
        bands = [(top, lines.high) for top in lines.tops]
    for column, place in zip(columns, places, strict=True):
        for top, high in bands:
            canvas.rect(place.gap, top, place.begins - place.gap, high, "stall")
        middle = max(sheet.left + _MARK / 2, (place.gap + place.begins) / 2)
        kind = f"{trigger_class(column.trigger)} trigger"
        canvas.rect(middle - _MARK / 2, 8, _MARK, _MARK, kind, _story(column), _row(0))
        canvas.text(middle, 19, SIGNS[column.trigger], "sign", anchor="middle")


def _draw_rows(
    canvas: Canvas, columns: Sequence[TimelineColumn], places: Sequence[_Place], rows: Sequence[str], lines: _Lines
) -> None:
    most = max((held.partitions for each in columns for held in each.held.values()), default=0)
    for row, member in enumerate(rows):
        y, high = lines.tops[row], lines.high
        before: TimelineColumn | None = None
        for column, place in zip(columns, places, strict=True):
            held = column.held.get(member)
            had = before.held.get(member) if before else None
            if held is not None:
                shade = _shade(held.partitions, most)
                wide = place.ends - place.begins
                if _went_on(column, before, member):
                    canvas.rect(place.gap - 0.2, y, place.begins - place.gap + 0.4, high, f"h{shade}")
                tip = f"{shortened(member, 60)}: {plural(held.partitions, 'partition')} {_when(column)}"
                canvas.rect(place.begins, y, wide - 0.4, high, f"h{shade}", tip, _row(row + 1))
                written = str(held.partitions)
                changed = had is None or had.partitions != held.partitions
                if changed and wide >= _DIGIT * len(written) + 4:
                    canvas.text(place.begins + 3, y + high / 2 + 4, written, f"cell n{shade}")
            before = column


def _went_on(column: TimelineColumn, before: TimelineColumn | None, member: str) -> bool:
    """Whether the member consumed during the rebalance: it gave up nothing, and not all had to stop."""
    if before is None or column.protocol is RebalanceProtocol.EAGER or column.previous != before.last:
        return False
    return column.held.get(member) == before.held.get(member)


def _draw_skew(
    canvas: Canvas,
    columns: Sequence[TimelineColumn],
    places: Sequence[_Place],
    sheet: PictureLayout,
    top: float,
    row: int,
) -> None:
    most = max(1.5, *(each.skew_ratio or 1 for each in columns))
    up = Scale(1, most, top + _SKEW - 8, top + 12)
    for value in (1.0, most):
        canvas.line(sheet.left, up(value), places[-1].ends, up(value), "zero" if value == 1 else "grid")
        words = f"skew {value:.2g}" if value == 1 else f"{value:.2g}"
        canvas.text(sheet.left - 8, up(value) + 4, words, "tick", anchor="end")
    known = [(column, place) for column, place in zip(columns, places, strict=True) if column.skew_ratio is not None]
    points = [(x, up(column.skew_ratio or 1)) for column, place in known for x in (place.begins, place.ends)]
    canvas.path(points, "skew")
    for column, place in known:
        tip = f"skew {column.skew_ratio:.2f} {_when(column)}"
        canvas.dot(place.begins, up(column.skew_ratio or 1), 2.4, "skew-dot", tip, _row(row))


def _times(
    columns: Sequence[TimelineColumn], places: Sequence[_Place], sheet: PictureLayout
) -> Iterator[tuple[float, str]]:
    """When columns begin; the day where it is another one."""
    day = ""
    for column, place in zip(columns, places, strict=True):
        text = moment_to_second(column.at_ms)
        yield max(place.begins, sheet.left + sheet.first_label), text[11:19] if text[:10] == day else text[5:16]
        day = text[:10]


def _story(column: TimelineColumn) -> str:
    stall = stall_text(column.stall) if column.stall else "unknown"
    skew = "" if column.skew_ratio is None else f", skew {column.skew_ratio:.2f}"
    return (
        f"{moment_to_second(column.at_ms)}, generation {column.last:,}: {trigger_name(column.trigger)}; "
        f"stood still {stall}, {plural(column.moved, 'partition')} moved, {plural(column.members, 'member')}{skew}"
    )


def _when(column: TimelineColumn) -> str:
    return f"from generation {column.last:,} on, {moment_to_second(column.at_ms)}"


def _short(label: str, most: int) -> str:
    """Names of one group begin alike: their ends tell them apart."""
    return label if len(label) <= most else "…" + label[-most + 1 :]


def _shade(value: int, most: int) -> int:
    if value <= 0:
        return 0
    return _SHADES[min(len(_SHADES) - 1, round((len(_SHADES) - 1) * value / most))]


def _row(number: int) -> str:
    return f' data-r="{number}"'
