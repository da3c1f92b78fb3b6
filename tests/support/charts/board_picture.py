"""Draws a board as SVG, with positions, texts and colours from Grafana's own functions.

Only the drawing is ours, because no Grafana server can run here. Data missing in the responses is missing in the
picture.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from typing import Any
from xml.sax.saxutils import escape

COLUMN, UNIT, GAP = 46, 30, 6
"""Pixels of a grid's column and row, and of the space between panels."""

LEFT, RIGHT = 58, 14
"""Pixels of a panel left and right of its time axis."""

NAMES_MAX = 6
"""Maximum number of lines of a legend that are drawn; in Grafana it may have more."""

PAPER, PANEL, EDGE, INK, FAINT = "#f4f5f5", "#ffffff", "#e0e2e5", "#24292e", "#6b7785"
COLOURS = ("#3d8b40", "#c69300", "#3274d9", "#e0752d", "#705da0", "#5195ce", "#bf1b00", "#962d82", "#0a9396", "#7d6608")

Frames = list[dict[str, Any]]


def picture(board: dict[str, Any], shown: dict[str, Frames]) -> str:
    """The whole board; ``shown``: panel's title -> its frames, in the format of ``apply.mjs``."""
    height = max(panel["gridPos"]["y"] + panel["gridPos"]["h"] for panel in board["panels"]) * UNIT + 44
    width = 24 * COLUMN + 2 * GAP
    reported = f"{_attribute(board['title'])}: {_attribute(board['description'])}"
    parts = [
        f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}'",
        f"role='img' aria-label='{reported}' font-family='system-ui, sans-serif'>",
        f"<rect width='{width}' height='{height}' fill='{PAPER}'/>",
        _text(GAP + 4, 26, board["title"], 16, INK, bold=True),
    ]
    span = _span([frame for frames in shown.values() for frame in frames])
    parts += [
        _heading(panel) if panel["type"] == "row" else _panel(panel, shown[panel["title"]], span)
        for panel in board["panels"]
    ]
    return "\n".join([*parts, "</svg>"]) + "\n"


def _heading(row: dict[str, Any]) -> str:
    return _text(GAP + 4, 38 + row["gridPos"]["y"] * UNIT + 18, row["title"], 14, INK, bold=True)


def _panel(panel: dict[str, Any], frames: Frames, span: tuple[float, float]) -> str:
    place = panel["gridPos"]
    x, y = GAP + place["x"] * COLUMN, 38 + place["y"] * UNIT
    width, height = place["w"] * COLUMN - GAP, place["h"] * UNIT - GAP
    parts = [
        f"<g transform='translate({x},{y})'>",
        f"<rect width='{width}' height='{height}' rx='3' fill='{PANEL}' stroke='{EDGE}'/>",
        _text(8, 18, _cut(panel["title"], width - 16, 12), 12, INK, bold=True),
    ]
    if not any(field["values"] for frame in frames for field in frame["fields"]):
        parts.append(_text(width / 2, height / 2 + 8, panel["fieldConfig"]["defaults"]["noValue"], 12, FAINT, "middle"))
    elif panel["type"] == "stat":
        cell = _values(frames[0])[0]["values"][-1]
        parts.append(_text(width / 2, height / 2 + 20, cell["text"], 26, cell["color"], "middle"))
    elif panel["type"] == "table":
        parts += _table(panel, frames[0], width, height)
    elif panel["type"] == "state-timeline":
        parts += _timeline(frames, span, width, height)
    else:
        parts += _lines(panel, frames, span, width, height)
    return "".join([*parts, "</g>"])


def _values(frame: dict[str, Any]) -> list[dict[str, Any]]:
    return [field for field in frame["fields"] if field["type"] == "number" and field["values"]]


def _table(panel: dict[str, Any], frame: dict[str, Any], width: float, height: float) -> list[str]:
    fields = frame["fields"]
    rows = int((height - 46) // 20)
    order = _order(panel, fields)[:rows]
    room = [max(len(field["name"]), *(len(_cell(field, at)["text"]) for at in order)) + 1.5 for field in fields]
    parts, x = [], 8.0
    for field, characters in zip(fields, room, strict=True):
        share = (width - 16) * characters / sum(room)
        parts.append(_text(x, 40, _cut(field["name"], share - 4, 10), 10, FAINT))
        for line, at in enumerate(order):
            cell = _cell(field, at)
            colour = cell["color"] if field["type"] == "number" else INK
            parts.append(_text(x, 60 + 20 * line, _cut(cell["text"], share - 4, 11), 11, colour))
        x += share
    return parts


def _cell(field: dict[str, Any], at: int) -> dict[str, Any]:
    cell: dict[str, Any] = field["values"][at]
    return cell


def _order(panel: dict[str, Any], fields: list[dict[str, Any]]) -> list[int]:
    """The numbers of the rows, in the order of the panel."""
    order = list(range(len(fields[0]["values"])))
    for by in reversed(panel["options"].get("sortBy", [])):
        field = next((field for field in fields if field["name"] == by["displayName"]), None)
        if field:
            numbers = field["numbers"]
            keys = [number or 0 for number in numbers] if numbers else [cell["text"] for cell in field["values"]]
            order.sort(key=keys.__getitem__, reverse=by["desc"])
    return order


def _span(frames: Frames) -> tuple[float, float]:
    """The time that the board shows, the same for all panels."""
    times = [at for frame in frames for field in frame["fields"] if field["type"] == "time" for at in field["numbers"]]
    return min(times), max(*times, min(times) + 1)


def _axis(span: tuple[float, float], width: float, foot: float) -> list[str]:
    """Texts of the time axis, the same for all panels of a board: its begin, its middle and its end."""
    first, last = span
    marks = ((first, "start"), ((first + last) / 2, "middle"), (last, "end"))
    return [_text(_x(at, span, width), foot + 12, _clock(at), 9, FAINT, anchor) for at, anchor in marks]


def _x(at: float, span: tuple[float, float], width: float) -> float:
    """The horizontal position of a time in a panel of this width."""
    first, last = span
    return LEFT + (at - first) / (last - first) * (width - LEFT - RIGHT)


def _clock(at_ms: float) -> str:
    return datetime.fromtimestamp(at_ms / 1000, UTC).strftime("%H:%M:%S")


def _timeline(frames: Frames, span: tuple[float, float], width: float, height: float) -> list[str]:
    band = (height - 62) / len(frames)
    parts, seen = _axis(span, width, height - 34), {}
    for row, frame in enumerate(frames):
        times, states = frame["fields"][0]["numbers"], _values(frame)[0]
        for at, cell in enumerate(states["values"]):
            begin = _x(times[at], span, width)
            end = _x(times[at + 1] if at + 1 < len(times) else span[1], span, width)
            seen[cell["text"]] = cell["color"]
            parts.append(
                f"<rect x='{begin:.1f}' y='{28 + row * band:.1f}' height='{max(band - 2, 1):.1f}' "
                f"width='{max(end - begin, 0.5):.1f}' fill='{seen[cell['text']]}'/>"
            )
    return [*parts, *_legend(list(seen.items()), width, height)]


def _lines(panel: dict[str, Any], frames: Frames, span: tuple[float, float], width: float, height: float) -> list[str]:
    first, last = span
    drawn = [
        (field, frame["fields"][0]["numbers"], field.get("fixed") or COLOURS[at % len(COLOURS)])
        for at, (frame, field) in enumerate((frame, field) for frame in frames for field in _values(frame))
    ]
    names = _names(panel, drawn)
    foot = height - 30 - 14 * min(NAMES_MAX, len(names))
    custom = panel["fieldConfig"]["defaults"]["custom"]
    stacked = custom.get("stacking", {}).get("mode") == "normal"
    piled = [stacked and field.get("drawStyle") in (None, custom["drawStyle"]) for field, _, _ in drawn]
    tops = _tops([each for each, pile in zip(drawn, piled, strict=True) if pile])
    tops += [
        number
        for (field, _, _), pile in zip(drawn, piled, strict=True)
        if not pile
        for number in field["numbers"]
        if number
    ]
    least = panel["fieldConfig"]["defaults"].get("min") or 0
    top = max([number - least for number in tops], default=0) or 1
    top_text = max(
        (
            (number, cell["text"])
            for field, _, _ in drawn
            for number, cell in zip(field["numbers"], field["values"], strict=True)
            if number
        ),
        default=(0, "0"),
    )[1]
    parts = [
        *_axis(span, width, foot),
        f"<path d='M{LEFT} {foot}H{width - RIGHT}M{LEFT} {32}H{width - RIGHT}' stroke='{EDGE}'/>",
        _text(LEFT - 4, foot + 4, f"{least}", 9, FAINT, "end"),
        _text(LEFT - 4, 36, f"{top:.4g}" if stacked else top_text, 9, FAINT, "end"),
    ]
    moments = sorted({at for _, times, _ in drawn for at in times})
    apart = min((after - at for at, after in pairwise(moments)), default=last - first)
    room = (width - LEFT - RIGHT) * min(apart / (last - first), 0.1)
    below: dict[float, float] = {}
    for (field, times, colour), pile in zip(drawn, piled, strict=True):
        points, style = [], field.get("drawStyle") or custom["drawStyle"]
        for at, number in zip(times, field["numbers"], strict=True):
            if number is None:
                continue
            base = below.get(at, 0.0) if pile else 0.0
            if pile:
                below[at] = base + number
            x = _x(at, span, width)
            points.append((x, *(foot - (value - least) / top * (foot - 32) for value in (base + number, base))))
        parts.append(_drawn(style, points, colour, room, stacked))
    return [*parts, *_legend(names, width, height)]


def _names(panel: dict[str, Any], drawn: list[tuple[dict[str, Any], list[float], str]]) -> list[tuple[str, str]]:
    """The names of the legend with their colours; those of a table in its order, the highest first."""
    legend, listed = panel["options"]["legend"], list(drawn)
    if legend["displayMode"] == "table" and legend.get("sortBy") == "Max":
        listed.sort(
            key=lambda series: max((number for number in series[0]["numbers"] if number), default=0), reverse=True
        )
    return [(field["name"], colour) for field, _, colour in listed]


def _tops(drawn: list[tuple[dict[str, Any], list[float], str]]) -> list[float]:
    total: dict[float, float] = {}
    for field, times, _ in drawn:
        for at, number in zip(times, field["numbers"], strict=True):
            total[at] = total.get(at, 0.0) + (number or 0.0)
    return list(total.values())


def _drawn(style: str, points: list[tuple[float, float, float]], colour: str, room: float, stacked: bool) -> str:
    if style == "bars":
        return "".join(
            f"<rect x='{x - room * 0.4:.1f}' y='{y:.1f}' width='{room * 0.8:.1f}' height='{max(base - y, 0):.1f}' "
            f"fill='{colour}' fill-opacity='.8'/>"
            for x, y, base in points
            if base - y > 0.2
        )
    if style == "points":
        return "".join(f"<circle cx='{x:.1f}' cy='{y:.1f}' r='2.5' fill='{colour}'/>" for x, y, _ in points)
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y, _ in points)
    if stacked and points:
        back = " ".join(f"{x:.1f},{base:.1f}" for x, _, base in reversed(points))
        return f"<polygon points='{path} {back}' fill='{colour}' fill-opacity='.8'/>"
    return f"<polyline points='{path}' fill='none' stroke='{colour}' stroke-width='1.3'/>"


def _legend(names: list[tuple[str, str]], width: float, height: float) -> list[str]:
    reported = names[:NAMES_MAX]
    if len(names) > NAMES_MAX:
        reported = [*names[: NAMES_MAX - 1], (f"... and {len(names) - NAMES_MAX + 1} more", FAINT)]
    wide = len(reported) > 1 and sum(len(name) for name, _ in reported) * 6.5 + 20 * len(reported) < width
    parts, x = [], 8.0
    for at, (name, colour) in enumerate(reported):
        y = height - 6 - (0 if wide else 14 * (len(reported) - 1 - at))
        parts.append(f"<rect x='{x:.0f}' y='{y - 6:.0f}' width='10' height='4' fill='{colour}'/>")
        parts.append(_text(x + 14, y, _cut(name, width - 24, 10), 10, INK))
        x += 26 + 6 * len(name) if wide else 0
    return parts


def _cut(text: str, width: float, size: int) -> str:
    room = int(width / (size * 0.56))
    return text if len(text) <= room else text[: max(room - 1, 1)] + "…"


def _text(x: float, y: float, text: str, size: int, colour: str, anchor: str = "start", *, bold: bool = False) -> str:
    weight = " font-weight='600'" if bold else ""
    looks = f"font-size='{size}' fill='{colour}' text-anchor='{anchor}'{weight}"
    return f"<text x='{x:.1f}' y='{y:.1f}' {looks}>{escape(text)}</text>"


def _attribute(text: str) -> str:
    return escape(text, {"'": "&apos;"})
