"""SVG marks, scales and axes: the little that plots of a report need. Numbers in, escaped text out.

A mark with a ``tip`` is explained when the pointer is over it, or the arrow keys come to it (``report.js``).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from rebalance_agent.ui.words import escaped

__all__ = ["MARGIN_LEFT", "Canvas", "Scale", "nice_ticks"]

MARGIN_LEFT = 62.0
"""Room for the words of a vertical axis."""

_STEPS = (1, 2, 2.5, 5, 10)
_TIME_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1_800, 3_600, 7_200, 14_400, 21_600, 43_200, 86_400)


@dataclass(frozen=True, slots=True)
class Scale:
    """From values to places: ``least`` is at ``begins``, ``most`` at ``ends``; what is beyond stays at the end."""

    least: float
    most: float
    begins: float
    ends: float

    def __call__(self, value: float) -> float:
        """Where ``value`` is."""
        span = self.most - self.least or 1.0
        place = min(max((value - self.least) / span, 0.0), 1.0)
        return self.begins + place * (self.ends - self.begins)


def nice_ticks(most: float, wanted: int = 4, *, seconds: bool = False) -> list[float]:
    """Round values from 0 to beyond ``most``, about as many as ``wanted``; of ``seconds``, round as clocks are."""
    if not most > 0:
        return [0.0, 1.0]
    raw = most / wanted
    if seconds and 1 <= raw <= _TIME_STEPS[-1]:
        step: float = next(each for each in _TIME_STEPS if each >= raw)
    else:
        unit = 86_400.0 if seconds and raw > 1 else 1.0
        power = 10.0 ** math.floor(math.log10(raw / unit)) * unit
        step = next(each * power for each in _STEPS if each * power >= raw * (1 - 1e-9))
    return [number * step for number in range(math.ceil(most / step - 1e-9) + 1)]


@dataclass(slots=True)
class Canvas:
    """One picture of so many units; it is as wide as its place in the page allows."""

    width: float
    height: float
    parts: list[str] = field(default_factory=list)

    def rect(self, x: float, y: float, width: float, height: float, kind: str, tip: str = "", more: str = "") -> None:
        """A box of class ``kind``."""
        self.parts.append(
            f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(max(width, 0))}" height="{_n(max(height, 0))}" class="{kind}"'
            f"{_tip(tip)}{more}/>"
        )

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        """A straight line."""
        self.parts.append(f'<path d="M{_n(x1)} {_n(y1)}L{_n(x2)} {_n(y2)}" class="{kind}"/>')

    def path(self, points: Iterable[tuple[float, float]], kind: str, *, steps: bool = False) -> None:
        """A line through all points; in ``steps`` it goes across first and then up or down."""
        words: list[str] = []
        for x, y in points:
            if not words:
                words.append(f"M{_n(x)} {_n(y)}")
            else:
                words.append(f"H{_n(x)}V{_n(y)}" if steps else f"L{_n(x)} {_n(y)}")
        if words:
            self.parts.append(f'<path d="{"".join(words)}" class="{kind}"/>')

    def dot(self, x: float, y: float, radius: float, kind: str, tip: str = "", more: str = "") -> None:
        """A disc."""
        self.parts.append(f'<circle cx="{_n(x)}" cy="{_n(y)}" r="{_n(radius)}" class="{kind}"{_tip(tip)}{more}/>')

    def text(self, x: float, y: float, text: str, kind: str = "", *, anchor: str = "", limit: int = 0) -> None:
        """Words; ``limit``: how many characters there is room for."""
        shown = text if not limit or len(text) <= limit else text[: max(1, limit - 1)] + "…"
        where = f' text-anchor="{anchor}"' if anchor else ""
        look = f' class="{kind}"' if kind else ""
        self.parts.append(f'<text x="{_n(x)}" y="{_n(y)}"{look}{where}>{escaped(shown)}</text>')

    def y_axis(self, scale: Scale, ticks: Sequence[float], words: Callable[[float], str], right: float) -> None:
        """Lines across, with their values at the left."""
        for tick in ticks:
            y = scale(tick)
            self.line(MARGIN_LEFT, y, right, y, "zero" if not tick else "grid")
            self.text(MARGIN_LEFT - 7, y + 4, words(tick), "tick", anchor="end")

    def x_labels(self, places: Iterable[tuple[float, str]], y: float) -> None:
        """Words below, each in the middle of its place; those that would touch another are left out."""
        free_from = -math.inf
        for x, word in places:
            half = len(word) * 3.4 + 5
            if x - half < free_from or x + half > self.width:
                continue
            self.text(x, y, word, "tick", anchor="middle")
            free_from = x + half

    def svg(self, title: str, description: str, more: str = "") -> str:
        """The whole picture; the arrow keys lead through what it explains. ``more``: further attributes."""
        return (
            f'<svg viewBox="0 0 {_n(self.width)} {_n(self.height)}" role="img" tabindex="0"{more} '
            f'aria-label="{escaped(title)}: {escaped(description)}">{"".join(self.parts)}</svg>'
        )


def _tip(text: str) -> str:
    return f' data-t="{escaped(text)}"' if text else ""


def _n(value: float) -> str:
    """A coordinate, to a tenth: enough for any screen, and short."""
    return f"{value:.1f}".removesuffix(".0")
