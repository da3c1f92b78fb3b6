"""Draws each story as an SVG: ``docs/images/strategies/<strategy>.svg`` (``make docs``)."""

from __future__ import annotations

import sys
import textwrap
from pathlib import Path
from xml.sax.saxutils import escape

sys.path.insert(0, str(Path(__file__).parent))

from pictured_groups import STORIES, Member, Scene, Story, play

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


def picture(story: Story) -> str:
    """The whole SVG of ``story``."""
    scenes = play(story)
    kinds = {
        tile[2]
        for scene in scenes
        for member in scene.members
        for line in _shown(
            scene,
            member,
            list(story.topics),
        )
        for tile in line
    }
    topics = list(story.topics)
    per_row = (MEMBER - 2 * 10 + GAP) // (TILE + GAP)
    rows = max(_rows(scene, member, topics, per_row) for scene in scenes for member in scene.members)
    box = 46 + rows * (TILE + GAP) + 6
    widths = [len(scene.members) * (MEMBER + 12) - 12 for scene in scenes]
    caption = textwrap.wrap(story.caption, max(40, (sum(widths) + 60) // 7))
    width = 2 * MARGIN + sum(widths) + 60
    height = 92 + box + 20 * len(caption)
    parts = [
        (
            f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}' width='{width}' height='{height}' "
            f"role='img' aria-label='{escape(story.strategy)}: {escape(story.caption, {chr(39): '&apos;'})}'>"
        ),
        f"<rect width='{width}' height='{height}' rx='10' fill='#ffffff' stroke='#d5dbe1'/>",
        _legend(topics, kinds),
    ]
    x = MARGIN
    for scene, scene_width in zip(scenes, widths, strict=True):
        parts.append(_text(x, 62, scene.title, 13, FAINT))
        for place, member in enumerate(scene.members):
            parts.append(_member(x + place * (MEMBER + 12), 72, box, scene, member, topics, per_row))
        x += scene_width + 60
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


def _shown(scene: Scene, member: Member, topics: list[str]) -> list[list[tuple[str, int, str]]]:
    """Rows of (topic, number, kind), one list for each topic that the member has something of."""
    name = member.name
    lines = []
    for topic in topics:
        line = []
        for number in scene.assignment.members.get(name, {}).get(topic, ()):
            stays = not scene.had or name in scene.had.get((topic, number), ())
            line.append((topic, number, "kept" if stays else "new"))
        line += [(topic, number, "gone") for number in scene.assignment.revoking.get(name, {}).get(topic, ())]
        line += [(topic, number, "copy") for number in scene.assignment.standbys.get(name, {}).get(topic, ())]
        if line:
            lines.append(sorted(line, key=lambda tile: (tile[2] in {"copy", "gone"}, tile[1])))
    return lines


def _rows(scene: Scene, member: Member, topics: list[str], per_row: int) -> int:
    return max(1, sum(-(-len(line) // per_row) for line in _shown(scene, member, topics)))


def _member(x: int, y: int, box: int, scene: Scene, member: Member, topics: list[str], per_row: int) -> str:
    parts = [
        f"<rect x='{x}' y='{y}' width='{MEMBER}' height='{box}' rx='8' fill='#f5f7f9' stroke='#d5dbe1'/>",
        _text(x + 10, y + 20, member.name, 14, INK, bold=True),
        _text(x + 10, y + 36, member.note, 11, FAINT),
    ]
    row = 0
    for line in _shown(scene, member, topics):
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
    """Draw every story."""
    IMAGES.mkdir(parents=True, exist_ok=True)
    for story in STORIES:
        (IMAGES / f"{story.strategy}.svg").write_text(picture(story))


if __name__ == "__main__":
    main()
