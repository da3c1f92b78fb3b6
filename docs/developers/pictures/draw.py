"""Draws each pictured group as an SVG: ``docs/images/strategies/<strategy>.svg`` (``make docs``)."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from xml.sax.saxutils import escape

sys.path.insert(0, str(Path(__file__).parent))

from pictured_groups import PICTURED_GROUPS, Member, Panel, PicturedGroup, panels

IMAGES = Path(__file__).parents[2] / "images" / "strategies"
COLOURS = ("#2f6fde", "#d9762b", "#2f9e6e", "#8a56c9")
INK, FAINT, NEW = "#1f2933", "#6b7785", "#111111"
TILE, GAP, MARGIN, MEMBER = 26, 6, 20, 132
LEGEND = {
    "new": (f"stroke='{NEW}' stroke-width='2.5'", "new to this member"),
    "copy": (f"stroke='{FAINT}' stroke-dasharray='3 2' stroke-width='1.5'", "copy (standby)"),
    "gone": ("stroke='#9aa5b1'", "revoked, not yet given out"),
}
FONT = "font-family='system-ui, sans-serif'"


def picture(group: PicturedGroup) -> str:
    """The whole SVG of ``group``."""
    both = panels(group)
    kinds = {
        tile[2]
        for panel in both
        for member in panel.members
        for line in _shown(
            panel,
            member,
            list(group.topics),
        )
        for tile in line
    }
    topics = list(group.topics)
    per_row = (MEMBER - 2 * 10 + GAP) // (TILE + GAP)
    rows = max(_rows(panel, member, topics, per_row) for panel in both for member in panel.members)
    box = 46 + rows * (TILE + GAP) + 6
    widths = [len(panel.members) * (MEMBER + 12) - 12 for panel in both]
    caption = textwrap.wrap(group.caption, max(40, (sum(widths) + 60) // 7))
    width = 2 * MARGIN + sum(widths) + 60
    height = 92 + box + 20 * len(caption)
    parts = [
        (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}' "
            f"role='img' aria-label='{escape(group.strategy)}: {escape(group.caption, {chr(39): '&apos;'})}'>"
        ),
        f"<rect width='{width}' height='{height}' rx='10' fill='#ffffff' stroke='#d5dbe1'/>",
        _legend(topics, kinds),
    ]
    x = MARGIN
    for panel, panel_width in zip(both, widths, strict=True):
        parts.append(_text(x, 62, panel.title, 13, FAINT))
        for place, member in enumerate(panel.members):
            parts.append(_member(x + place * (MEMBER + 12), 72, box, panel, member, topics, per_row))
        x += panel_width + 60
    arrow = MARGIN + widths[0] + 14
    middle = 72 + box // 2
    parts.append(
        f"<path d='M{arrow} {middle}h26m-8 -6l8 6l-8 6' fill='none' stroke='{FAINT}' stroke-width='2'/>",
    )
    parts += [_text(MARGIN, 72 + box + 22 + 19 * line, text, 13, INK) for line, text in enumerate(caption)]
    return "\n".join([*parts, "</svg>", ""])


def _legend(topics: list[str], kinds: set[str]) -> str:
    parts, x = [], MARGIN
    for topic, colour in zip(topics, COLOURS, strict=False):
        parts.append(f"<rect x='{x}' y='18' width='14' height='14' rx='3' fill='{colour}'/>")
        parts.append(_text(x + 20, 30, topic, 13, INK))
        x += 40 + 8 * len(topic)
    for kind, (edge, words) in LEGEND.items():
        if kind in kinds:
            parts.append(f"<rect x='{x}' y='18' width='14' height='14' rx='3' fill='none' {edge}/>")
            parts.append(_text(x + 20, 30, words, 13, INK))
            x += 40 + 7 * len(words)
    return "".join(parts)


def _shown(panel: Panel, member: Member, topics: list[str]) -> list[list[tuple[str, int, str]]]:
    """Rows of (topic, number, kind), one list for each topic of which the member has partitions or copies."""
    name = member.name
    lines = []
    for topic in topics:
        line = []
        for number in panel.assignment.members.get(name, {}).get(topic, ()):
            stays = not panel.had or name in panel.had.get((topic, number), ())
            line.append((topic, number, "kept" if stays else "new"))
        line += [(topic, number, "gone") for number in panel.assignment.revoking.get(name, {}).get(topic, ())]
        line += [(topic, number, "copy") for number in panel.assignment.standbys.get(name, {}).get(topic, ())]
        if line:
            lines.append(sorted(line, key=lambda tile: (tile[2] in {"copy", "gone"}, tile[1])))
    return lines


def _rows(panel: Panel, member: Member, topics: list[str], per_row: int) -> int:
    return max(1, sum(-(-len(line) // per_row) for line in _shown(panel, member, topics)))


def _member(x: int, y: int, box: int, panel: Panel, member: Member, topics: list[str], per_row: int) -> str:
    parts = [
        f"<rect x='{x}' y='{y}' width='{MEMBER}' height='{box}' rx='8' fill='#f5f7f9' stroke='#d5dbe1'/>",
        _text(x + 10, y + 20, member.name, 14, INK, bold=True),
        _text(x + 10, y + 36, member.note, 11, FAINT),
    ]
    row = 0
    for line in _shown(panel, member, topics):
        for place, (topic, number, kind) in enumerate(line):
            left = x + 10 + place % per_row * (TILE + GAP)
            top = y + 46 + (row + place // per_row) * (TILE + GAP)
            parts.append(_tile(left, top, COLOURS[topics.index(topic)], number, kind))
        row += -(-len(line) // per_row)
    return "".join(parts)


def _tile(x: int, y: int, colour: str, number: int, kind: str) -> str:
    fill, ink = {"copy": ("#ffffff", colour), "gone": ("#ffffff", "#9aa5b1")}.get(kind, (colour, "#ffffff"))
    edge = {
        "copy": f"stroke='{colour}' stroke-dasharray='3 2' stroke-width='1.5'",
        "gone": "stroke='#9aa5b1'",
        "new": f"stroke='{NEW}' stroke-width='2.5'",
        "kept": "",
    }[kind]
    return (
        f"<rect x='{x}' y='{y}' width='{TILE}' height='{TILE}' rx='5' fill='{fill}' {edge}/>"
        f"<text x='{x + TILE / 2}' y='{y + 18}' {FONT} font-size='13' text-anchor='middle' fill='{ink}'>{number}</text>"
        + (f"<path d='M{x + 4} {y + TILE - 4}l{TILE - 8} {8 - TILE}' stroke='#9aa5b1'/>" if kind == "gone" else "")
    )


def _text(x: float, y: float, text: str, size: int, colour: str, *, bold: bool = False) -> str:
    weight = " font-weight='600'" if bold else ""
    return f"<text x='{x}' y='{y}' {FONT} font-size='{size}'{weight} fill='{colour}'>{escape(text)}</text>"


def main() -> None:
    """Draw all pictured groups."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for group in PICTURED_GROUPS:
        (IMAGES / f"{group.strategy}.svg").write_text(picture(group))


if __name__ == "__main__":
    main()
