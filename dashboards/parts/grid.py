"""Positions of panels: rows from the top left, without overlaps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dashboards.parts.panel import Panel

__all__ = ["WIDTH", "Row", "Spot", "lay"]

WIDTH = 24
"""Columns of Grafana's grid."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row of panels. ``height`` is in units of Grafana's grid (30 pixels with margin).

    ``heading``: the title above this row and the following rows, up to the next heading. A click on it folds them.
    """

    height: int
    panels: tuple[Panel, ...]
    heading: str = ""


@dataclass(frozen=True, slots=True)
class Spot:
    """The upper left corner and the size of a panel."""

    x: int
    y: int
    width: int
    height: int


def lay(rows: Sequence[Row]) -> Iterator[tuple[Panel | str, Spot]]:
    """Yield each heading and each panel with its position.

    Raises:
        ValueError: the widths of a row's panels do not add up to the grid's width.
    """
    y = 0
    for row in rows:
        if row.heading:
            yield row.heading, Spot(0, y, WIDTH, 1)
            y += 1
        x = 0
        for panel in row.panels:
            yield panel, Spot(x, y, panel.width, row.height)
            x += panel.width
        if x != WIDTH:
            raise ValueError(f"the row of {row.panels[0].title!r} is {x} wide, not {WIDTH}")
        y += row.height
