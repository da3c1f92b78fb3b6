"""Draws marks, scales and axes of charts: converts numbers to escaped SVG.

A mark with a ``tip`` shows this text when the pointer is over it or the arrow keys reach it (``tips.js``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from rebalance_agent.ui.words import escaped

__all__ = ["MARGIN_LEFT", "Canvas", "Scale", "nice_ticks"]

MARGIN_LEFT = 62.0
"""Width, in SVG units, of the labels to the left of a vertical axis."""

_STEPS = (1, 2, 2.5, 5, 10)
_TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400)


@dataclass(frozen=True, slots=True)
class Scale:
    """A linear map to coordinates: ``value_min`` -> ``start``, ``value_max`` -> ``end``; other values are clamped."""

    value_min: float
    value_max: float
    start: float
    end: float

    def __call__(self, value: float) -> float:
        """Return the coordinate of ``value``."""
        span = self.value_max - self.value_min or 1.0
        fraction = min(max((value - self.value_min) / span, 0.0), 1.0)
        return self.start + fraction * (self.end - self.start)


def nice_ticks(value_max: float, intervals: int = 4, *, seconds: bool = False) -> list[float]:
    """Return round values from 0 to at least ``value_max``, in about ``intervals`` steps; ``seconds``: round times."""
    if not value_max > 0:
        return [0.0, 1.0]
    raw = value_max / intervals
    if seconds and 1 <= raw <= _TIME_STEPS[-1]:
        step: float = next(size for size in _TIME_STEPS if size >= raw)
    else:
        unit = 86_400.0 if seconds and raw > 1 else 1.0
        power = 10.0 ** math.floor(math.log10(raw / unit)) * unit
        step = next(size * power for size in _STEPS if size * power >= raw * (1 - 1e-9))
    return [number * step for number in range(math.ceil(value_max / step - 1e-9) + 1)]


@dataclass(slots=True)
class Canvas:
    """One SVG picture of ``width`` by ``height`` units; the page scales it to the available width."""

    width: float
    height: float
    parts: list[str] = field(default_factory=list)

    def rect(self, x: float, y: float, width: float, height: float, kind: str, tip: str = "", more: str = "") -> None:
        """Add a box of CSS class ``kind``; ``more``: further attributes, already escaped."""
        self.parts.append(
            f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(max(width, 0))}" height="{_n(max(height, 0))}" class="{kind}"'
            f"{_tip(tip)}{more}/>"
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """Add a straight line."""
        self.parts.append(f'<path d="M{_n(x1)} {_n(y1)}L{_n(x2)} {_n(y2)}" class="{kind}"/>')

    def path(self, points: Iterable[tuple[float, float]], kind: str, *, steps: bool = False) -> None:
        """Add a line through all points; with ``steps``, each point is reached horizontally, then vertically."""
        commands: list[str] = []
        for x, y in points:
            if not commands:
                commands.append(f"M{_n(x)} {_n(y)}")
            else:
                commands.append(f"H{_n(x)}V{_n(y)}" if steps else f"L{_n(x)} {_n(y)}")
        if commands:
            self.parts.append(f'<path d="{"".join(commands)}" class="{kind}"/>')

    def dot(self, x: float, y: float, radius: float, kind: str, tip: str = "", more: str = "") -> None:
        """Add a filled circle."""
        self.parts.append(f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" class="{kind}"{_tip(tip)}{more}/>')

    def text(self, x: float, y: float, text: str, kind: str = "", *, anchor: str = "", limit: int = 0) -> None:
        """Add text; ``limit``: characters that fit, 0 for any number."""
        shown = text if not limit or len(text) <= limit else text[: max(1, limit - 1)] + "…"
        where = f' text-anchor="{anchor}"' if anchor else ""
        look = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text x="{_n(x)}" y="{_n(y)}"{look}{where}>{escaped(shown)}</text>')

    def y_axis(self, scale: Scale, ticks: Sequence[float], label: Callable[[float], str], right: float) -> None:
        """Add a horizontal line for each tick, with the tick's label at the left."""
        for tick in ticks:
            y = scale(tick)
            self.line(MARGIN_LEFT, y, right, y, "zero" if not tick else "grid")
            self.text(MARGIN_LEFT - 7, y + 4, label(tick), "tick", anchor="end")

    def x_labels(self, labels: Iterable[tuple[float, str]], y: float) -> None:
        """Add centred labels (x, text) at ``y``; a label that would overlap the previous label is left out."""
        free_from = -math.inf
        for x, text in labels:
            half = len(text) * 3.4 + 5
            if x - half < free_from or x + half > self.width:
                continue
            self.text(x, y, text, "tick", anchor="middle")
            free_from = x + half

    def svg(self, title: str, description: str, more: str = "") -> str:
        """Return the picture as an SVG element; the arrow keys move between its tips. ``more``: further attributes."""
        return (
            f'<svg viewBox="0 0 {_n(self.width)} {_n(self.height)}" role="img" tabindex="0"{more} '
            f'aria-label="{escaped(title)}: {escaped(description)}">{"".join(self.parts)}</svg>'
        )


def _tip(text: str) -> str:
    return f' data-t="{escaped(text)}"' if text else ""


def _n(value: float) -> str:
    """Return a coordinate to a tenth of a unit, which is finer than any screen, and short."""
    return f"{value:.1f}".removesuffix(".0")
