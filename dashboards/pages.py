"""Generates the list of panels on a board's page in ``docs/boards``."""

from __future__ import annotations

from pathlib import Path

from dashboards.parts.board import Board

__all__ = ["MARK", "PAGES", "page"]

PAGES = Path(__file__).parent.parent / "docs" / "boards"

MARK = "<!-- Generated from here on by `make dashboards`, from dashboards/. -->"


def page(written: str, board: Board) -> str:
    """Return the page: the manual text up to the mark, and the generated panels after it.

    Raises:
        ValueError: the mark is missing.
    """
    people, mark, _ = written.partition(MARK)
    if not mark:
        raise ValueError(f"the page of {board.uid} has no line {MARK}")
    lines = ["## Panels", "", "| panel | question |", "| --- | --- |"]
    for row in board.rows:
        lines += [f"| {panel.title} | {_cell(panel.question)} |" for panel in row.panels]
    return "\n".join([people + MARK, "", *lines, ""])


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("_", "\\_")
