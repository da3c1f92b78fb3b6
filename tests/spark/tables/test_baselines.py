"""Baselines: percentiles of small samples by hand, and of many random ones compared with plain Python."""

from __future__ import annotations

import random

import pytest

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.pipeline.tables.baselines import BaselineSettings, baselines
from rebalance_agent.pipeline.tables.generations import generations
from support.pipeline import aggregates
from support.pipeline.event_rows import HOUR_MS, MONDAY_MS, events_frame, generation, member

DAY_MS, WEEK_MS = 24 * HOUR_MS, 168 * HOUR_MS
NOW_MS = MONDAY_MS + 8 * WEEK_MS
SETTINGS = BaselineSettings(weeks=8, samples=20, days=3)
NAMES = ("scope", "samples", "stall_p50", "stall_p95", "stall_p99")


def stalls(group, *pairs):
    """Rebalances of a group: (epoch milliseconds, seconds of stall)."""
    return [
        generation(at_ms, number, [member("a", (0,))], group=group, stall=(seconds, seconds))
        for number, (at_ms, seconds) in enumerate(pairs, 1)
    ]


def spread(hour, number, *, days=7, weeks=8):
    """This number of rebalances at an hour of the week or (``days`` 1) of the day, with stalls of 1, 2, 3, ...
    seconds."""
    return [
        (MONDAY_MS + hour * HOUR_MS + (index % weeks) * days * DAY_MS + index, index + 1.0) for index in range(number)
    ]


def small_histories():
    yield from stalls("noon", *spread(12, 20))
    yield from stalls("one too few", *spread(12, 19))
    yield from stalls("a hundred", *spread(167, 100))
    # Monday to Friday at nine: too few on each day, enough in total.
    yield from stalls("mornings", *spread(9, 20, days=1, weeks=5))
    yield from stalls("now and then", *((MONDAY_MS + index * 29 * HOUR_MS, 5.0) for index in range(40)))
    yield from stalls("one bad day", *((MONDAY_MS + 12 * HOUR_MS + index, 600.0) for index in range(50)))
    yield from stalls("long ago", *((at_ms - 60 * WEEK_MS, seconds) for at_ms, seconds in spread(12, 50)))
    yield from stalls(
        "outlier", *((at_ms, 1.0) for at_ms, _ in spread(12, 19)), (MONDAY_MS + 12 * HOUR_MS + 999, 3600.0)
    )
    yield generation(MONDAY_MS, 1, [member("a", (0,))], group="unmeasured")


@pytest.fixture(scope="module")
def small(spark):
    found = {}
    frame = baselines(generations(events_frame(spark, small_histories())), NOW_MS, SETTINGS)
    for row in frame.collect():
        found.setdefault(row["group"], {})[row["hour_of_week"]] = tuple(row[name] for name in NAMES)
    return found


def test_an_hour_with_enough_rebalances_has_its_own_numbers(small):
    assert small["noon"][12] == ("hour_of_week", 20, 10.0, 19.0, None)
    assert small["a hundred"][167] == ("hour_of_week", 100, 50.0, 95.0, 99.0)


def test_hours_with_too_few_use_all_days_and_then_all_hours(small):
    assert small["mornings"][9] == ("hour_of_day", 20, 10.0, 19.0, None)
    assert small["mornings"][9 + 6 * 24] == ("hour_of_day", 20, 10.0, 19.0, None)
    assert small["mornings"][10] == ("week", 20, 10.0, 19.0, None)
    assert set(small["now and then"].values()) == {("week", 40, 5.0, 5.0, None)}
    assert {len(hours) for hours in small.values()} == {168}


def test_groups_with_too_few_rebalances_or_a_single_day_have_no_baseline(small):
    assert small.keys() == {"noon", "a hundred", "mornings", "now and then", "outlier"}


def test_no_percentile_rests_on_a_single_rebalance(small):
    assert small["outlier"][12] == ("hour_of_week", 20, 1.0, 1.0, None)


@pytest.mark.parametrize("name", ["weeks", "samples", "days"])
def test_settings_that_are_not_positive_are_refused(name):
    with pytest.raises(InvalidInputError) as caught:
        BaselineSettings(**{name: 0})
    assert caught.value.field == name


def random_stalls(seed):
    rng = random.Random(seed)
    hours = rng.sample(range(8 * 168), rng.randrange(1, 60))
    for _ in range(rng.randrange(1, 400)):
        yield MONDAY_MS + rng.choice(hours) * HOUR_MS + rng.randrange(HOUR_MS), rng.randrange(60_000) / 1000


@pytest.fixture(scope="module")
def many(spark):
    histories = {f"g{seed}": sorted(random_stalls(seed)) for seed in range(25)}
    events = [event for group, pairs in histories.items() for event in stalls(group, *pairs)]
    frame = baselines(generations(events_frame(spark, events)), NOW_MS, SETTINGS).cache()
    yield histories, frame
    frame.unpersist()


def test_many_random_histories_agree_with_plain_python(many):
    histories, frame = many
    found = {group: {} for group in histories}
    for row in frame.collect():
        found[row["group"]][row["hour_of_week"]] = tuple(row[name] for name in NAMES)
    expected = {
        group: aggregates.baselines(pairs, SETTINGS.samples, SETTINGS.days) for group, pairs in histories.items()
    }
    assert found == expected
    assert {hour[0] for hours in found.values() for hour in hours.values()} == {"hour_of_week", "hour_of_day", "week"}
