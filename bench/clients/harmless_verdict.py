"""Decides from intervals of medians whether an instrumented program costs more than a bare one.

A value is the median, over all rounds, of the difference between the instrumented program and the bare one of the same
round. The difference between a second bare program and the first one is the noise. There are three results, because a
difference that is not visible may still exist:

- `SAME`: the whole interval is below the measure's bound.
- `MORE`: the whole interval is above the bound, and above the interval of the noise.
- `UNKNOWN`: neither, because the noise is too large or there were too few rounds.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

SURE: Final = 0.98
"""Minimum confidence of a median's interval. `MORE` needs two disjoint intervals, far less likely by chance."""

SAME, MORE, UNKNOWN = "same", "more", "unknown"


@dataclass(frozen=True)
class Measure:
    """A figure for which higher is worse.

    ``bound``: the accepted increase, in ``unit``; ``%`` is percent of the bare program's figure.
    """

    key: str
    title: str
    bound: float
    unit: str = "%"

    def more(self, values: Sequence[float], bare: Sequence[float]) -> list[float]:
        """Return for each round by how much the value exceeds that of the bare program, in ``unit``."""
        pairs = zip(values, bare, strict=True)
        return [(value / base - 1) * 100 if self.unit == "%" else value - base for value, base in pairs]


@dataclass(frozen=True)
class Interval:
    """A median and its confidence interval; ``sure``: the confidence, 0 to 1."""

    low: float
    median: float
    high: float
    sure: float

    def __str__(self) -> str:
        return f"{self.median:+.1f} ({self.low:+.1f} to {self.high:+.1f})"


@dataclass(frozen=True)
class Finding:
    """The result of one measure for one instrumented variant; ``noise``: the increase between two bare programs."""

    measure: Measure
    variant: str
    more: Interval
    noise: Interval

    @property
    def enough(self) -> bool:
        """Whether there were enough rounds for a verdict."""
        return min(self.more.sure, self.noise.sure) >= SURE

    @property
    def seen(self) -> bool:
        """Whether it differs from a bare program: its interval lies above the noise's interval of either sign."""
        return self.enough and self.more.low > max(self.noise.high, -self.noise.low)

    @property
    def verdict(self) -> str:
        """`SAME`, `MORE` or `UNKNOWN`."""
        if self.enough and self.more.high <= self.measure.bound:
            return SAME
        return MORE if self.seen and self.more.low > self.measure.bound else UNKNOWN


def interval(values: Sequence[float]) -> Interval:
    """Return the narrowest interval between two values that contains the median with confidence `SURE`.

    If no interval has that confidence, return the widest one. No distribution is assumed, only that a value lies below
    the median as often as above it.
    """
    ordered, count = sorted(values), len(values)
    outside, taken = 2 / 2**count, 0
    sure = 1 - outside
    while 2 * (taken + 2) <= count and 1 - outside - 2 * math.comb(count, taken + 1) / 2**count >= SURE:
        taken += 1
        outside += 2 * math.comb(count, taken) / 2**count
        sure = 1 - outside
    return Interval(ordered[taken], statistics.median(ordered), ordered[-1 - taken], sure)


def judged(
    found: Mapping[str, Sequence[Mapping[str, float]]], measures: Sequence[Measure], bare: str, again: str
) -> list[Finding]:
    """Return a finding for each measure and variant, except the bare ones; ``found``: figures by variant and round."""
    findings = []
    for measure in measures:
        values = {name: [row[measure.key] for row in rows] for name, rows in found.items()}
        noise = interval(measure.more(values[again], values[bare]))
        findings += [
            Finding(measure, name, interval(measure.more(values[name], values[bare])), noise)
            for name in found
            if name not in (bare, again)
        ]
    return findings
