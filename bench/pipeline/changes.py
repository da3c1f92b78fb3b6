"""Measures precision, recall and false alarms of `pipeline.changes` on synthetic groups with planted changes.

A change that was found is right if it is of the planted signal and at most three days from the planted hour; all others
are false alarms. A longer stall, or a higher skew, counts from the first rebalance that shows it. A planted change is
*clear* if the days with it and the days without it differ by at least four standard errors, computed with the planted
hours. The *oracle* is the best that a detector could reach (see `change_oracle`), with the same limit of false
discoveries.
"""

from __future__ import annotations

import math
import random
import secrets
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import cycle, islice, pairwise, product
from time import process_time

import numpy as np

from bench.measure import percentile, say, table
from bench.pipeline.change_fleets import DAYS, SIZES, Planted, RandomGroup, group_hours, plant
from bench.pipeline.change_oracle import oracle_chance
from rebalance_agent.pipeline.changes.change_points import ChangePoint, change_points
from rebalance_agent.pipeline.changes.false_discoveries import FALSE_SHARE, highest_chance
from rebalance_agent.pipeline.changes.group_signals import Hours, Signal, days_of

GROUPS = 1_000
CHANGED = 450
SEEDS = 3
TOLERANCE_HOURS = 72
CLEAR = 4.0
PER_DAY = (1.0, 5.0, 20.0)
"""Bounds of the classes of groups by series of rebalances per day."""


@dataclass
class Judged:
    """A group: the planted change, whether it is clear, the changes that were found, and the number of tests.

    ``oracle``: the oracle's probability of chance; ``per_day``: series of rebalances per day.
    """

    planted: Planted | None
    clear: bool
    oracle: float
    per_day: float
    changes: list[ChangePoint]
    tests: int


@dataclass(frozen=True)
class Outcome:
    """A planted hour: the change and its group, and whether our detector and the oracle found it."""

    signal: Signal
    size: float
    per_day: float
    clear: bool
    found: bool
    by_oracle: bool


@dataclass
class Score:
    """The result of a fleet.

    ``right``, ``false``: changes that were found, right ones and false alarms. ``outcomes``: one for each planted hour.
    ``errors_hours``: hours between a right change and the planted one.
    """

    right: int = 0
    false: list[ChangePoint] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    errors_hours: list[int] = field(default_factory=list)

    def per_thousand_groups_and_week(self, groups: int) -> float:
        """Return the number of false alarms for each 1,000 of ``groups`` and week."""
        return 1000 * len(self.false) / groups / (DAYS / 7)


def main(scale: float = 1.0, seeds: Sequence[int] = ()) -> None:
    """Measure fleets with and without planted changes; by default with new random seeds."""
    for seed in seeds or [secrets.randbelow(10**9) for _ in range(SEEDS)]:
        groups, changed = round(GROUPS * scale), round(CHANGED * scale)
        say(f"seed {seed}: {groups} groups with {changed} changes, and as many without")
        start = process_time()
        score, quiet = (_scored(list(_fleet(f"{seed}/{number}", groups, number))) for number in (changed, 0))
        spent = process_time() - start
        found = score.right + len(score.false)
        alarms, quiet_alarms = (each.per_thousand_groups_and_week(groups) for each in (score, quiet))
        print(
            f"\nSeed {seed}: precision {score.right / max(1, found):.3f} of {found} found; false alarms for each 1,000 "
            f"groups and week: {alarms:.2f}, without changes {quiet_alarms:.2f}. Error of the hour: median "
            f"{percentile(score.errors_hours, 0.5)}, 90 % within {percentile(score.errors_hours, 0.9)}. "
            f"CPU ms a group, with its generation: {1000 * spent / 2 / groups:.0f}.\n"
        )
        table(("signal", "size", "planted", "recall", "oracle", "clear", "recall of clear ones"), _rows(score))
        print()
        table(("signal", "series per day", "planted", "recall", "oracle"), _rows_by_rate(score))


def _rows(score: Score) -> Iterator[tuple[object, ...]]:
    kinds: list[tuple[Signal | None, float | None]] = [
        *product(Signal, (*SIZES, None)),
        *((None, size) for size in (*SIZES, None)),
    ]
    for signal, size in kinds:
        mine = [each for each in score.outcomes if each.signal is (signal or each.signal)]
        mine = [each for each in mine if each.size == (size or each.size)]
        clear = [each.found for each in mine if each.clear]
        kind = signal or "all", f"x{size}" if size else "all"
        yield *kind, len(mine), *_recalls(mine), len(clear), _share(clear)


def _rows_by_rate(score: Score) -> Iterator[tuple[object, ...]]:
    for signal, (low, high) in product(Signal, pairwise((0.0, *PER_DAY, math.inf))):
        mine = [each for each in score.outcomes if each.signal is signal and low <= each.per_day < high]
        yield signal, f"{low:g} to {high:g}", len(mine), *_recalls(mine)


def _recalls(outcomes: Sequence[Outcome]) -> tuple[float, float]:
    return _share([each.found for each in outcomes]), _share([each.by_oracle for each in outcomes])


def _share(found: Sequence[bool]) -> float:
    return sum(found) / len(found) if found else math.nan


def _fleet(seed: str, groups: int, changed: int) -> Iterator[Judged]:
    """Generate ``groups`` groups, of which ``changed`` have a planted change, and search all groups for changes."""
    kinds = [*islice(cycle(product(Signal, SIZES)), changed), *[None] * (groups - changed)]
    for number, kind in enumerate(kinds):
        name = f"{seed}/{number}"
        rng = random.Random(name)
        planted = plant(rng, *kind) if kind else None
        group = RandomGroup(rng, planted)
        rows = group.rebalances()
        hours = group_hours(rows)
        oracle = oracle_chance(group, rows, planted) if planted else 1.0
        if planted:
            planted = _visible(planted, hours)
        results = [change_points(hours, signal, name) for signal in Signal]
        yield Judged(
            planted,
            planted is not None and _is_clear(hours, planted),
            oracle,
            len(group.begun) / DAYS,
            [change for result in results for change in result.changes],
            sum(each.tests for each in results),
        )


def _visible(planted: Planted, hours: Hours) -> Planted:
    """Return a change of stall or skew as of the first rebalance that shows it."""
    if planted.signal is Signal.FREQUENCY:
        return planted
    known = hours.hours[hours.stalls > 0]

    def moved(hour: int) -> int:
        later = known[known >= hour]
        return int(later[0]) if len(later) else hour

    return replace(planted, hour=moved(planted.hour), recovered=planted.recovered and moved(planted.recovered))


def _is_clear(hours: Hours, planted: Planted) -> bool:
    days = days_of(hours, planted.signal)
    inside = np.array([planted.factor(planted.signal, day * 24 + 12) > 1 for day in days.days], dtype=bool)
    if min(inside.sum(), (~inside).sum()) < 2:
        return False
    means, variance = [], 0.0
    for part in (inside, ~inside):
        mean = np.average(days.values[part], weights=days.weights[part])
        variance += float((days.weights[part] * (days.values[part] - mean) ** 2).sum()) / (len(inside) - 2)
        means.append(mean)
    error = math.sqrt(variance * sum(1 / days.weights[part].sum() for part in (inside, ~inside)))
    return bool(abs(means[0] - means[1]) >= CLEAR * error)


def _scored(fleet: Sequence[Judged]) -> Score:
    """Compare what was found in a fleet with what was planted."""
    chances = [change.chance for group in fleet for change in group.changes]
    limit = highest_chance(chances, sum(group.tests for group in fleet), FALSE_SHARE)
    # The oracle's tests where nothing changed are left out: very few of them would be below the limit.
    oracle_limit = highest_chance([group.oracle for group in fleet], len(Signal) * len(fleet), FALSE_SHARE)
    score = Score()
    for group in fleet:
        missing = list(group.planted.hours) if group.planted else []
        for change in group.changes:
            if change.chance > limit:
                continue
            of_signal = missing if group.planted and group.planted.signal is change.signal else []
            near = min(of_signal, key=lambda hour: abs(hour - change.hour), default=None)
            if near is None or abs(near - change.hour) > TOLERANCE_HOURS:
                score.false.append(change)
                continue
            missing.remove(near)
            score.right += 1
            score.errors_hours.append(abs(near - change.hour))
        if planted := group.planted:
            known = (planted.signal, planted.size, group.per_day, group.clear)
            by_oracle = group.oracle <= oracle_limit
            score.outcomes += [Outcome(*known, hour not in missing, by_oracle) for hour in planted.hours]
    return score


if __name__ == "__main__":
    main(float(sys.argv[1]), [int(text) for text in sys.argv[2:]])
