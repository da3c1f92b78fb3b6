"""Decides whether a value grows: a line through samples, with the confidence interval of its slope. Pure."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

__all__ = ["Slope", "fitted"]

SURE = 3.0
"""Standard errors by which a slope must exceed 0: of a thousand flat series, about three then seem to grow."""

BLOCKS = 24
"""Number of pieces in which samples are averaged first: neighbouring samples are alike, not independent evidence."""


@dataclass(frozen=True)
class Slope:
    """A line's ``per_hour`` with its standard ``error``; ``start`` and ``end`` of the line over the samples."""

    per_hour: float
    error: float
    start: float
    end: float

    @property
    def sure(self) -> bool:
        """Whether the slope is upwards beyond the noise of a flat line."""
        return self.per_hour > SURE * self.error

    def grows(self, allowed: float) -> bool:
        """Whether it certainly rises, and by more than is allowed."""
        return self.sure and self.end - self.start > allowed


def fitted(hours: Sequence[float], values: Sequence[float]) -> Slope:
    """The line of least squares through the means of `BLOCKS` equal pieces; at least three samples."""
    if len(values) != len(hours) or len(values) < 3:
        raise ValueError("a slope takes at least three samples, each with its time")
    xs, ys = _blocks(hours), _blocks(values)
    slope, offset = statistics.linear_regression(xs, ys)
    left = sum((y - offset - slope * x) ** 2 for x, y in zip(xs, ys, strict=True))
    middle = statistics.fmean(xs)
    spread = sum((x - middle) ** 2 for x in xs)
    error = math.sqrt(left / (len(xs) - 2) / spread)
    return Slope(slope, error, offset + slope * hours[0], offset + slope * hours[-1])


def _blocks(values: Sequence[float]) -> list[float]:
    count = min(BLOCKS, len(values))
    edges = [round(at * len(values) / count) for at in range(count + 1)]
    return [statistics.fmean(values[begin:end]) for begin, end in pairwise(edges)]
