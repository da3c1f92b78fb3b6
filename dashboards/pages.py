"""The part of a board's page in ``docs/boards`` that is the board's own words: what each panel answers."""

from __future__ import annotations

from pathlib import Path

from dashboards.board import Board

__all__ = ["MARK", "PAGES", "page"]

PAGES = Path(__file__).parent.parent / "docs" / "boards"

MARK = "<!-- From here on `make dashboards` writes, from dashboards/. -->"


def page(written: str, board: Board) -> str:
    """The page: what people wrote down to the mark, and the panels after it.

    Raises:
        ValueError: there is no mark.
    """
    people, mark, _ = written.partition(MARK)
    if not mark:
        raise ValueError(f"the page of {board.uid} has no line {MARK}")
    lines = ["## Panels", "", "| panel | what it answers |", "| --- | --- |"]
    for row in board.rows:
        lines += [f"| {panel.title} | {_cell(panel.question)} |" for panel in row.panels]
    return "\n".join([people + MARK, "", *lines, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("_", "\\_")
