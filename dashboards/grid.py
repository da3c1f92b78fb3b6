"""Where panels stand: rows of them from the top left, none over another."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from dashboards.panel import Panel

__all__ = ["WIDTH", "Row", "Spot", "lay"]

WIDTH = 24
"""Columns of Grafana's grid."""


@dataclass(frozen=True, slots=True)
class Row:
    """Panels side by side, ``height`` units of Grafana's grid high (one is 30 pixels with its margin)."""

    height: int
    panels: tuple[Panel, ...]


@dataclass(frozen=True, slots=True)
class Spot:
    """Left upper corner and size of a panel."""

    x: int
    y: int
    width: int
    height: int


def lay(rows: Sequence[Row]) -> Iterator[tuple[Panel, Spot]]:
    """Each panel with its place.

    Raises:
        ValueError: the panels of a row do not fill its width: too many, or a gap.
    """
    y = 0
    for row in rows:
        x = 0
        for panel in row.panels:
            yield panel, Spot(x, y, panel.width, row.height)
            x += panel.width
        if x != WIDTH:
            raise ValueError(f"the row of {row.panels[0].title!r} is {x} wide, not {WIDTH}")
        y += row.height
