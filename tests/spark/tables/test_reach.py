"""A change of events reaches all days whose rows differ then, and no day without need.

Every case is a cluster of its own, so that Spark computes hundreds of them at once.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import random
from functools import reduce

import pytest
from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.model.episode import Evidence, Phases, Trigger
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.group_event import event_id
from rebalance_agent.pipeline.increments import reach
from rebalance_agent.pipeline.increments.group_days import GROUP_DAY
from rebalance_agent.pipeline.tables import group_hours as hours_module
from rebalance_agent.pipeline.tables.generations import generations
from rebalance_agent.pipeline.tables.group_hours import GroupDays, group_hours
from support.pipeline.event_rows import (
    HOUR_MS,
    INGESTED,
    MONDAY_MS,
    aborted,
    events_frame,
    generation,
    gone,
    member,
)

DAY_MS = 24 * HOUR_MS
HOURS_MAX, MONTH_HOURS = 72, 30 * 24
"""Instead of a year, so that the rows of a generation that lasts too long are few."""

EARLY, LATE = (dt.datetime.fromtimestamp((MONDAY_MS + days * DAY_MS) / 1000, dt.UTC) for days in (3, 9))
"""Times of reading of some events, by clocks that are behind that of their cluster."""

STATES = ("before", "between", "after")
"""The events of the last run, of a run that was killed after its last write, and of this run."""


@pytest.fixture
def hours_max(request, monkeypatch):
    for module in (hours_module, reach):
        monkeypatch.setattr(module, "INTERVAL_HOURS_MAX", request.param)


@dataclasses.dataclass
class Version:
    """A version of an event: when it was read, and the states that have it."""

    event: object
    states: frozenset[str]
    ingested: dt.datetime = INGESTED


class Fleet:
    """The events of all clusters, in each state."""

    def __init__(self, spark, versions):
        frames = []
        for ingested in {version.ingested for version in versions}:
            of_time = [version for version in versions if version.ingested == ingested]
            flags = [(number, *(state in version.states for state in STATES)) for number, version in enumerate(of_time)]
            # The offset only numbers the rows, to join them with their states.
            rows = events_frame(spark, [version.event for version in of_time], ingested, numbered=True)
            columns = f"offset BIGINT, {', '.join(f'{state} BOOLEAN' for state in STATES)}"
            frames.append(rows.join(spark.createDataFrame(flags, columns), "offset"))
        self.all = reduce(lambda left, right: left.unionByName(right), frames).persist()
        self.changes = self.all.where("NOT (before = between AND between = after)")

    def state(self, name):
        events = self.all.where(name)
        return generations(events), events


def keys_of_hours(fleet):
    rows, events = fleet.state("after")
    return reach.days_of_hours(fleet.changes, rows, events)


def rounded(frame):
    """Sums of fractions depend on the order of summation in their last digits; maps cannot be compared."""
    doubles = {name: F.round(name, 6) for name, kind in frame.dtypes if kind == "double"}
    maps = {name: F.to_json(name) for name, kind in frame.dtypes if kind.startswith("map")}
    return frame.withColumns(doubles | maps)


def different(left, right):
    return rounded(left).exceptAll(rounded(right)).unionByName(rounded(right).exceptAll(rounded(left)))


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
    "end of the storm": ([*near_midnight(30), gone(at(2)), *LATER], [], near_midnight(-20), {0, 1}),
    "no storm": ([*near_midnight(-70), gone(at(1, 1)), *LATER], [], near_midnight(30), {1}),
    "a later end of the cluster": (steps(0), [], [aborted(at(2), 1, group="other")], {0, 1, 2}),
    "an earlier end of the cluster": (steps(1), [aborted(at(3), 1, group="other")], [], {1, 2, 3}),
    "the first hours of a generation that is too long": (
        [*steps(0), aborted(at(36), 1, group="other")], [], [aborted(at(37), 2, group="other")], {6, 7, 36, 37},
    ),
    "the first hours of one that ends late": ([*steps(0), gone(at(45)), *LATER], [], steps(40), set(range(46))),
    "the group's first generation": ([*steps(3), *GONE, *LATER], [], steps(1), {1, 2, 3}),
    "nothing": (steps(0, 1, 2) + LATER, [], [], set()),
}  # fmt: skip

AHEAD = {
    # The same, but all events were read at noon of the third day: later ones are of a clock that is ahead.
    "the hours since the cluster's end": ([*steps(0), aborted(at(3), 1, group="other")], [], steps(4), {2, 3, 4}),
    "until a deletion after the cluster's end": ([*steps(1), *GONE, *steps(2)], [], steps(3), {2, 3, 4, 5}),
    "two deleted steps": ([aborted(at(2), 1, group="other")], [*steps(3), gone(at(5))], [], {3, 4, 5}),
}


def versions_of(cluster, case, ingested=INGESTED):
    for part, states in zip(case, (STATES, STATES[:2], STATES[2:]), strict=False):
        for event in part:
            identity = event_id(event.KIND, cluster, event.group, event.group_type, 0, event.timestamp_ms)
            renamed = dataclasses.replace(event, cluster_id=cluster, event_id=identity)
            yield Version(renamed, frozenset(states), ingested)


@pytest.mark.usefixtures("hours_max")
@pytest.mark.parametrize("hours_max", [MONTH_HOURS], indirect=True)
def test_each_rule_finds_its_days_and_no_others(spark):
    cases = CASES | AHEAD
    versions = [
        version
        for name, case in cases.items()
        for version in versions_of(name, case, read_at(2) if name in AHEAD else INGESTED)
    ]
    found = {name: set() for name in cases}
    for row in keys_of_hours(Fleet(spark, versions)).where("group = 'g'").collect():
        found[row["cluster_id"]].add((row["day"] - dt.date(2024, 1, 1)).days)
    wrong = [f"{name}: {sorted(found[name])}" for name, case in cases.items() if found[name] != case[-1]]
    assert not wrong, "\n".join(wrong)


# Random cases

GAPS_MS = (30_000, 58_000, 5 * HOUR_MS, 30 * HOUR_MS, 60 * HOUR_MS, 120 * HOUR_MS)


def history(rng, cluster, group):
    at_ms = MONDAY_MS + rng.randrange(2 * DAY_MS)
    for number in range(1, rng.randrange(2, 11)):
        at_ms += rng.choice(GAPS_MS) + rng.randrange(2_000)
        fate = rng.random()
        if fate < 0.15:
            yield gone(at_ms, group=group, cluster_id=cluster)
        elif fate < 0.25:
            yield aborted(at_ms, number, group=group, cluster_id=cluster)
        else:
            yield random_generation(rng, at_ms, number, cluster, group)


def random_generation(rng, at_ms, number, cluster, group):
    members = [member("a", range(rng.randrange(1, 9)))] if rng.random() < 0.85 else []
    closes = rng.random() < 0.85
    seconds = rng.choice([0.0004, 20, rng.randrange(100 * 3600)])
    trigger = rng.choice([Trigger.GROUP_STARTED, Trigger.MEMBER_JOINED])
    return generation(
        at_ms, number, members, group=group, cluster_id=cluster, closes_episode=closes, trigger=trigger,
        causes=(trigger,), stall=(seconds, seconds) if closes and rng.random() < 0.7 else None,
    )  # fmt: skip


def revised(rng, event):
    at_ms = event.timestamp_ms + rng.randrange(-2 * DAY_MS, 2 * DAY_MS)
    more = {"phases": Phases(at_ms, Evidence.RECORD), "stall": None} if isinstance(event, GenerationEvent) else {}
    return dataclasses.replace(event, timestamp_ms=at_ms, revision=event.revision + 1, **more)


def random_cluster(rng, cluster):
    """Two groups of which some events come, go or are replaced from state to state."""
    events = [event for group in ("g", "h") for event in history(rng, cluster, group)]
    chosen = rng.sample(events, min(len(events), rng.randrange(5)))
    for event in events:
        ingested = rng.choice([INGESTED, INGESTED, INGESTED, EARLY, LATE])
        if event not in chosen:
            yield Version(event, frozenset(STATES), ingested)
        elif rng.random() < 0.3:
            first = rng.randrange(1, 3)
            yield Version(event, frozenset(STATES[:first]), ingested)
            yield Version(revised(rng, event), frozenset(STATES[first:]), ingested)
        else:
            # Most often it is new; sometimes it is deleted, or there for a time only.
            some = rng.choice([STATES[1:], STATES[2:], STATES[2:], STATES[:1], STATES[:2], STATES[1:2], STATES[::2]])
            yield Version(event, frozenset(some), ingested)


@pytest.mark.usefixtures("hours_max")
@pytest.mark.parametrize("hours_max", [HOURS_MAX], indirect=True)
def test_all_days_that_differ_are_found(spark):
    rng = random.Random(1)
    fleet = Fleet(spark, [version for number in range(400) for version in random_cluster(rng, f"c{number:03}")])
    keys = keys_of_hours(fleet).persist()
    hours = {state: group_hours(*fleet.state(state)).persist() for state in STATES}
    for state in STATES[:2]:
        differ = different(hours[state], hours["after"]).select(*GROUP_DAY).distinct().persist()
        assert differ.count() > 200
        assert differ.join(keys, [*GROUP_DAY], "left_anti").collect() == [], state
    days = [row["day"] for row in keys.select("day").distinct().collect()]
    found = group_hours(*fleet.state("after"), GroupDays(keys, days))
    wanted = hours["after"].join(keys, [*GROUP_DAY], "left_semi").select(*found.columns)
    assert different(found, wanted).collect() == []
    assert keys.count() < 0.7 * hours["after"].select(*GROUP_DAY).distinct().count()
