"""Measures how figures grow with the size: a tenth of the usual size, the usual size, and up to ten times the size.

The exponent is computed from the smallest and the largest size: 1 is proportional to the size, 0 is constant.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import log

from bench.measure import table
from bench.observer import catch_up, delay, scrape, start, tail, takeover

SIZES: Mapping[str, tuple[Callable[[float], dict[str, float]], tuple[float, ...]]] = {
    "catch-up": (catch_up.figures, (0.1, 1.0, 10 / 3)),
    "start": (start.figures, (0.1, 1.0, 10.0)),
    "tail": (tail.figures, (0.1, 1.0, 10.0)),
    "delay": (delay.figures, (0.1, 1.0, 5.0)),
    "takeover": (takeover.figures, (0.1, 1.0, 5.0)),
    "scrape": (scrape.figures, (0.1, 1.0, 10.0)),
}
"""Name -> the figures and the sizes. Size 1 is 1.5 M records for catch-up, 5,500 records a second for tail, and 2,000
groups for the others."""


def main(scale: float = 1.0) -> None:
    """Print a table for each measurement."""
    for name, (figures, sizes) in SIZES.items():
        found = [figures(size * scale) for size in sizes]
        rows = (
            (what, *(each[what] for each in found), _exponent(sizes, [each[what] for each in found]))
            for what in found[0]
        )
        table((name, *(f"x {size:.2g}" for size in sizes), "exponent"), rows)
        print(flush=True)


def _exponent(sizes: tuple[float, ...], values: list[float]) -> float:
    return log(max(values[-1], 1e-9) / max(values[0], 1e-9)) / log(sizes[-1] / sizes[0])
