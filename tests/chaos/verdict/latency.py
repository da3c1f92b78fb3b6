"""Compares poll latency of instrumented and bare consumers; the difference between two bare ones is noise.

The three groups have equal processes, which start, leave and are killed at the same moments, and one coordinator. The
run is cut into windows; in each of them the same happens to all three.
"""

from __future__ import annotations

import math
import statistics
from collections import defaultdict

from chaos.members.kinds import TRIED
from chaos.verdict.verdict import Verdict

WINDOW_MS = 30_000
WINDOWS_MIN = 3
POLLS_MIN = 100
"""Minimum number of polls of a group in a window: fewer have no meaningful 99th percentile."""

NOISE_SHARE = 0.9
"""Share of the windows in which the bare groups differ by no more than the noise."""

CHANCE = 0.001
"""Probability of being the latest of three equal groups in as many windows, above which a result is no finding."""

FELT_US = 1_000
"""Microseconds below which a difference does not matter, whatever the ratio. A poll here waits for 100 ms."""


def compared(late):
    """Return the verdict on ``late``: group -> (epoch ms, microseconds of each late poll), in any order."""
    windows = _windows(late)
    if len(windows) < WINDOWS_MIN:
        what = f"polls: {len(windows)} windows of {WINDOW_MS // 1000} s have enough of them, too few to compare"
        return Verdict(what, (what,))
    reported = [_judged(f"p{percent}", [_percentiles(each, percent) for each in windows]) for percent in (50, 99)]
    few = ", too few to find anything" if _by_chance(len(windows), len(windows)) >= CHANCE else ""
    lines = [f"polls return late, in {len(windows)} windows{few}:", *(what for what, _ in reported)]
    return Verdict(
        "\n  ".join(lines), tuple(f"instrumented polls are later: {what}" for what, later in reported if later)
    )


def _windows(late):
    """Return the late polls of each group, for each window with enough of them."""
    found = defaultdict(lambda: defaultdict(list))
    for name in TRIED:
        for at_ms, late_us in late.get(name, ()):
            found[at_ms // WINDOW_MS][name] += late_us
    return [each for _, each in sorted(found.items()) if all(len(each[name]) >= POLLS_MIN for name in TRIED)]


def _percentiles(window, percent):
    return [statistics.quantiles(window[name], n=100)[percent - 1] for name in TRIED]


def _judged(name, rows):
    """Return a text, and whether instrumented consumers are later than the noise explains."""
    noise = [math.log(also / bare) for bare, also, _ in rows]
    most = sorted(map(abs, noise))[math.ceil(NOISE_SHARE * len(noise)) - 1]
    more = statistics.median(math.log(tried / math.sqrt(bare * also)) for bare, also, tried in rows)
    latest = sum(tried > max(bare, also) for bare, also, tried in rows)
    bare, also, tried = (statistics.median(each) for each in zip(*rows, strict=True))
    what = (
        f"{name} {tried / 1000:.2f} ms instrumented, {bare / 1000:.2f} and {also / 1000:.2f} ms bare: instrumented is "
        f"{math.exp(more):.2f} of bare and the latest in {latest} of {len(rows)}; bare is "
        f"{math.exp(statistics.median(noise)):.2f} of bare, and in one window up to {math.exp(most):.2f} of it"
    )
    felt = tried - math.sqrt(bare * also) > FELT_US
    return what, felt and more > most and _by_chance(latest, len(rows)) < CHANCE


def _by_chance(latest, windows):
    """Return the probability that one of three equal groups is the latest as often, or more often."""
    ways = sum(math.comb(windows, often) * 2 ** (windows - often) for often in range(latest, windows + 1))
    return ways / 3**windows
