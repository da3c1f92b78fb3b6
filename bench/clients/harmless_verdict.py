"""Decides whether an instrumented program costs more than a bare one: intervals of medians.

A value is the median over rounds of the difference between the instrumented program and the bare one of the same round;
the difference of a second bare program is the noise. There are three results, because no visible difference does not
prove that there is none:

- `SAME`: the whole interval is below the measure's bound.
- `MORE`: the whole interval is above the bound, and above the difference of the bare programs.
- `UNKNOWN`: neither; the noise is too large, or there were too few rounds.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

SURE: Final = 0.98
"""Confidence of a median's interval. `MORE` needs two disjoint intervals, which chance produces far more rarely."""

SAME, MORE, UNKNOWN = "same", "more", "unknown"


@dataclass(frozen=True)
class Measure:
    """A figure for which higher is worse.

    ``bound``: the increase that is accepted, in ``unit``; ``%`` means percent of the bare program's figure.
    """

    key: str
    title: str
    bound: float
    unit: str = "%"

    def more(self, values: Sequence[float], bare: Sequence[float]) -> list[float]:
        """Return by how much each round's value exceeds the value of the bare program."""
        pairs = zip(values, bare, strict=True)
        return [(value / base - 1) * 100 if self.unit == "%" else value - base for value, base in pairs]


@dataclass(frozen=True)
class Interval:
    """A median and its confidence interval; ``sure`` is the confidence."""

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
        """Whether it differs from a bare program: its interval lies above all differences between two bare ones."""
        return self.enough and self.more.low > max(self.noise.high, -self.noise.low)

    @property
    def verdict(self) -> str:
        """`SAME`, `MORE` or `UNKNOWN`."""
        if self.enough and self.more.high <= self.measure.bound:
            return SAME
        return MORE if self.seen and self.more.low > self.measure.bound else UNKNOWN


def interval(values: Sequence[float]) -> Interval:
    """Return the median's narrowest interval of order statistics with confidence `SURE`, or else the widest interval.

    It assumes no distribution: a value lies below the median as often as above it.
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
    """Findings for each measure of each variant except the two bare ones; ``found``: figures by variant and round."""
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
