"""A change of events reaches all days whose rows differ then, and no day without need.

Every case is a cluster of its own, so that Spark computes all of them at once.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import random

import pytest

from rebalance_agent.model.group import GroupType
from rebalance_agent.model.group_event import event_id
from rebalance_agent.pipeline.increments import reach
from rebalance_agent.pipeline.tables import group_hours as hours_module
from support.pipeline.changing_fleets import DAY_MS, STATES, Fleet, Version, assert_all_found, keys_of, random_cluster
from support.pipeline.event_rows import (
    HOUR_MS,
    INGESTED,
    MONDAY_MS,
    aborted,
    generation,
    gone,
    member,
    reported,
    rollout,
)

CLUSTERS = 60
HOURS_MAX, MONTH_HOURS = 72, 30 * 24
"""Instead of a year, so that the rows of a generation that lasts too long are few."""


@pytest.fixture
def hours_max(request, monkeypatch):
    for module in (hours_module, reach):
        monkeypatch.setattr(module, "INTERVAL_HOURS_MAX", request.param)


# Cases with a known result

OTHERS_END_MS = MONDAY_MS + 20 * DAY_MS


def at(days, hours=12.0):
    return round(MONDAY_MS + days * DAY_MS + hours * HOUR_MS)


def steps(*days, **fields):
    """Generations at noon of these days."""
    return [generation(at(day), 100 + day, [member("a", (0,))], **fields) for day in days]


def read_at(days):
    return dt.datetime.fromtimestamp(at(days) / 1000, dt.UTC)


def near_midnight(*seconds):
    """Generations so many seconds after the end of the first day."""
    return [generation(at(1, second / 3600), 500 + second, [member("a", (0,))]) for second in seconds]


GONE = [gone(at(5))]
EMPTY = generation(at(1, -10 / 3600), 499, [])
"""A step before midnight that is no rebalance of a storm."""

LATER = [aborted(OTHERS_END_MS, 1, group="other")]
"""It ends the cluster after all steps, and has no hours itself."""

CASES = {
    # Name: events that did not change, deleted ones, new ones, and the days of group `g` that are found.
    "until the next generation": (steps(0, 3) + GONE + LATER, [], steps(1), {1, 2, 3}),
    "until the group was deleted": (steps(0, 3) + GONE + LATER, [], steps(4), {4, 5}),
    "until the cluster's end": ([*steps(0, 1), aborted(at(4), 1, group="other")], [], steps(3), {3, 4}),
    "a deleted generation": (steps(0, 3) + GONE + LATER, steps(1), [], {1, 2, 3}),
    "a replaced generation": (steps(0, 4) + GONE + LATER, steps(1), steps(2), {1, 2, 3, 4}),
    "the deletion of the group": (steps(0, 2, 4) + LATER, [], [gone(at(3))], {3, 4}),
    "its stall": (steps(0, 4) + GONE + LATER, [], steps(3, stall=(30 * 3600, 1.0)), {2, 3, 4}),
    "the stall before": (steps(0, 4) + GONE + LATER, steps(3, stall=(30 * 3600, 1.0)), steps(3), {2, 3, 4}),
    "an aborted generation": (steps(0, 4) + GONE + LATER, [], [aborted(at(2), 7)], {2}),
    "begin of the storm": ([*near_midnight(-70, -20), gone(at(1, 1)), *LATER], [], near_midnight(30), {0, 1}),
    "end of the storm": ([EMPTY, *near_midnight(30), gone(at(2)), *LATER], [], near_midnight(-20), {0, 1}),
    "no storm": ([*near_midnight(-70), gone(at(1, 1)), *LATER], [], near_midnight(30), {1}),
    "a later end of the cluster": (steps(0), [], [aborted(at(2), 1, group="other")], {0, 1, 2}),
    "a consumer's later report": ([*steps(0), aborted(at(1), 1, group="h")], [], [reported(at(2), group="h")], set()),
    "an earlier end of the cluster": (steps(1), [aborted(at(3), 1, group="other")], [], {1, 2, 3}),
    "the first hours of a generation that is too long": (
        [*steps(0), aborted(at(36), 1, group="other")], [], [aborted(at(37), 2, group="other")], {6, 7, 36, 37},
    ),
    "the first hours of one that ends late": ([*steps(0), gone(at(45)), *LATER], [], steps(40), set(range(46))),
    "the same, cut twice": ([*steps(0), gone(at(45)), *LATER], [], steps(10, 12), set(range(46))),
    "the group's first generation": ([*steps(3), *GONE, *LATER], [], steps(1), {1, 2, 3}),
    "nothing": (steps(0, 1, 2) + LATER, [], [], set()),
}  # fmt: skip

AHEAD = {
    # The same, but all events were read at noon of the third day: later ones are of a clock that is ahead.
    "the hours since the cluster's end": ([*steps(0), aborted(at(3), 1, group="other")], [], steps(4), {2, 3, 4}),
    "until a deletion after the cluster's end": ([*steps(1), *GONE, *steps(2)], [], steps(3), {2, 3, 4, 5}),
    "the hours since the step before": (steps(3), [], steps(5), {3, 4, 5}),
    "the same, cut twice by a clock that is ahead": ([*steps(0), gone(at(45))], [], steps(10, 12), set(range(46))),
    "two deleted steps": ([aborted(at(2), 1, group="other")], [*steps(3), gone(at(5))], [], {3, 4, 5}),
}


def versions_of(cluster, case, ingested=INGESTED):
    for part, states in zip(case, (STATES, STATES[:2], STATES[2:]), strict=False):
        for event in part:
            identity = event_id(event.KIND, cluster, event.group, GroupType.CLASSIC, 0, event.timestamp_ms)
            renamed = dataclasses.replace(event, cluster_id=cluster, event_id=identity)
            yield Version(renamed, states, ingested)


DEPLOYS = {
    # The same for the days whose generations are found.
    "a new generation": (steps(0, 3), [], steps(1), {1}),
    "a deleted generation's row": (steps(0, 3), steps(1), [], {1}),
    "a deploy": (steps(*range(6)), [], [rollout(at(3), DAY_MS, (100, 200))], {1, 2, 3, 4}),
    "a deleted deploy": (steps(*range(6)), [rollout(at(3), DAY_MS, (100, 200))], [], {1, 2, 3, 4}),
    "a deploy that began decades ago": ([], [], [rollout(at(4), 3_000 * DAY_MS, (100, 200))], set(range(6))),
    "no generation": (steps(0, 3), [], [aborted(at(1), 7), gone(at(2))], set()),
}


def days_of(keys, cases):
    """The days of group `g` in each of these cases, since `MONDAY_MS`."""
    found = {name: set() for name in cases}
    for cluster, group, day in keys:
        if cluster in cases and group == "g":
            found[cluster].add((day - dt.date(2024, 1, 1)).days)
    return found


@pytest.mark.usefixtures("hours_max")
@pytest.mark.parametrize("hours_max", [MONTH_HOURS], indirect=True)
def test_each_rule_finds_its_days_and_no_others(spark):
    of_hours = CASES | AHEAD
    versions = [
        version
        for name, case in (of_hours | DEPLOYS).items()
        for version in versions_of(name, case, read_at(2) if name in AHEAD else INGESTED)
    ]
    fleet = Fleet(spark, versions)
    found = days_of(keys_of(fleet.days_of_hours), of_hours) | days_of(keys_of(fleet.days_of_generations()), DEPLOYS)
    wrong = [f"{name}: {sorted(found[name])}" for name, case in (of_hours | DEPLOYS).items() if found[name] != case[-1]]
    assert not wrong, "\n".join(wrong)


# Random cases


@pytest.mark.usefixtures("hours_max")
@pytest.mark.parametrize("hours_max", [HOURS_MAX], indirect=True)
def test_all_days_that_differ_are_found(spark):
    rng = random.Random(1)
    assert_all_found(Fleet(spark, [each for number in range(CLUSTERS) for each in random_cluster(rng, f"c{number}")]))
