"""Runs `aggregate` after each part of a fleet's events, kills some of the runs, and checks the tables."""

from __future__ import annotations

import dataclasses
import datetime as dt

import pytest

from rebalance_agent.model.episode import Evidence, Phases, Trigger
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.pipeline.increments.increment import update
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.pipeline.tables.generations import generations
from rebalance_agent.pipeline.tables.group_hours import group_hours
from rebalance_agent.pipeline.tables.members import members
from support.pipeline.event_rows import (
    HOUR_MS,
    INGESTED,
    MONDAY_MS,
    events_frame,
    generation,
    member,
    random_history,
    reported,
    rollout,
)

DAY_MS = 24 * HOUR_MS
DAYS = 4
NOW_MS = MONDAY_MS + 30 * DAY_MS
MADE = ("generations", "members", "group_hours")
BEHIND = dt.datetime.fromtimestamp((MONDAY_MS + 2 * DAY_MS) / 1000, dt.UTC)
"""The ingestion time of some events, by a clock that is behind that of their cluster."""


def storm(at_ms, group, cluster_id, gap_ms=50_000, count=12):
    """Rebalances close to each other, from ``at_ms``; it is the only history of its group."""
    for number in range(1, count + 1):
        yield generation(at_ms + number * gap_ms, number, [member("a", (0,))], group=group, cluster_id=cluster_id,
                         trigger=Trigger.MEMBER_JOINED, causes=(Trigger.MEMBER_JOINED,), stall=(0.5, 0.5))  # fmt: skip


def fleet(rng):
    """All events of two clusters, in random order."""
    events = []
    for cluster in ("c", "d"):
        for number in range(2):
            group = f"g{number}"
            events += random_history(rng.randrange(1 << 30), group=group, cluster_id=cluster, hours=48, rebalances=30)
            begin = MONDAY_MS + rng.randrange(DAYS * DAY_MS)
            length_ms, last = rng.randrange(2 * DAY_MS), rng.randrange(2, 20)
            events.append(rollout(begin + length_ms, length_ms, (1, last), group=group, cluster_id=cluster))
        # By clocks that are ahead of the coordinator's.
        events += (reported(MONDAY_MS + (DAYS + days) * DAY_MS, group="g0", cluster_id=cluster) for days in range(3))
        events += storm(MONDAY_MS + rng.randrange(1, DAYS) * DAY_MS - 300_000, "storm", cluster)
    for days in (500, 480):
        events.append(generation(MONDAY_MS - days * DAY_MS, 600 - days, [member("a", (0, 1))], group="quiet"))
    rng.shuffle(events)
    return events


def revised(rng, event):
    """The event again, with another time and a higher revision."""
    at_ms = event.timestamp_ms + rng.randrange(-12 * HOUR_MS, 12 * HOUR_MS)
    more = {"timestamp_ms": at_ms, "revision": event.revision + 1}
    if isinstance(event, GenerationEvent):
        more |= {"phases": Phases(at_ms, Evidence.RECORD), "stall": None}
    return dataclasses.replace(event, **more)


def store_days(tables, first, last, more=()):
    """Store a generation on each of these days, and ``more`` events."""
    days = range(first, last + 1)
    events = [generation(MONDAY_MS + day * DAY_MS + HOUR_MS, day, [member("a", (0, 1))]) for day in days]
    tables.merge("events", events_frame(tables.spark, [*events, *more]))


class KilledError(Exception):
    """A process is killed."""


class Interrupted(DeltaTables):
    """Tables with one interrupted write: ``interrupt`` is called before write number ``writes``, or ``after`` it."""

    writes, after = 99, False

    def interrupt(self):
        raise KilledError

    def overwrite(self, name, frame, where=None, check=lambda: None):
        self.writes -= 1
        if self.writes == 0 and not self.after:
            self.interrupt()
        super().overwrite(name, frame, where, check)
        if self.writes == 0 and self.after:
            self.interrupt()


def comparable(frame):
    """The rows, sorted and rounded, because the last digits of sums depend on the order of summation."""
    rounded = (
        {name: round(value, 6) if isinstance(value, float) else value for name, value in row.asDict(True).items()}
        for row in frame.collect()
    )
    return sorted(map(repr, rounded))


def assert_as_full(tables):
    events = tables.read("events")
    rows = generations(events).persist()
    for name, expected in zip(MADE, (rows, members(rows), group_hours(rows, events)), strict=True):
        assert comparable(tables.read(name)) == comparable(expected), name
    rows.unpersist()


def run(tables, **more):
    """Run `update`; return its steps."""
    steps = []
    update(tables, more.pop("now_ms", NOW_MS), steps.append, **more)
    return steps


def is_increment(steps):
    return any("days of groups" in step for step in steps)


def assert_increments_give_a_full_run(tables, rng, pieces, *, in_order=False):
    """Store a fleet's events in ``pieces``, some late, revised or deleted; after each, a run is killed and repeated."""
    waiting, known = fleet(rng), []
    if in_order:
        waiting.sort(key=lambda event: event.timestamp_ms)
    for number in range(pieces):
        new = waiting[number * len(waiting) // pieces : (number + 1) * len(waiting) // pieces]
        # Revisions are of earlier events, and sometimes of an event of the same increment.
        revisable = [event for event in known + new if isinstance(event, GenerationEvent | RolloutEvent)]
        again = [revised(rng, event) for event in rng.sample(revisable, 3 if known else 0)]
        for batch in (new, again):
            if batch:
                tables.merge("events", events_frame(tables.spark, batch, rng.choice([INGESTED, BEHIND])))
        known += new
        if number:
            tables.remove("events", events_frame(tables.spark, rng.sample(known, 2)).select("event_id"))
            tables.writes, tables.after = rng.randrange(1, 4), rng.random() < 0.5
            with pytest.raises(KilledError):
                run(tables)
            tables.writes = 99
            # Some of the events that the killed run has read are deleted.
            tables.remove("events", events_frame(tables.spark, rng.sample(new, 2)).select("event_id"))
        assert is_increment(run(tables)) == (number > 0)
    assert_as_full(tables)
