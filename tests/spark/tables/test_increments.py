"""Any order of increments, late, revised and deleted events and failed runs gives the tables of one full run."""

from __future__ import annotations

import dataclasses
import datetime as dt
import random

import pytest

from rebalance_agent.model.episode import Evidence, Phases, Source, Trigger
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.group_event import event_id
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.pipeline.increments.increment import update
from rebalance_agent.pipeline.tables.delta_tables import DeltaTables
from rebalance_agent.pipeline.tables.generations import generations
from rebalance_agent.pipeline.tables.group_hours import group_hours
from rebalance_agent.pipeline.tables.members import members
from support.pipeline.event_rows import HOUR_MS, INGESTED, MONDAY_MS, events_frame, generation, member, random_history

DAY_MS = 24 * HOUR_MS
DAYS = 4
NOW_MS = MONDAY_MS + 30 * DAY_MS
MADE = ("generations", "members", "group_hours")
BEHIND = dt.datetime.fromtimestamp((MONDAY_MS + 2 * DAY_MS) / 1000, dt.UTC)
"""The time of reading of some events, by a clock that is behind that of their cluster."""


def rollout(at_ms, length_ms, numbers, group, cluster_id):
    identity = event_id("rollout", cluster_id, group, GroupType.CLASSIC, numbers[0], at_ms)
    return RolloutEvent(
        identity, cluster_id, group, at_ms + length_ms, Source.RECORDS, GroupType.CLASSIC, at_ms, *numbers,
        closed=False, rebalances=2, members=2, members_replaced=2, stalled_partition_seconds=1.0,
    )  # fmt: skip


def storm(at_ms, group, cluster_id, gap_ms=50_000, count=12):
    """Rebalances close to each other, from ``at_ms``; it is the only history of its group."""
    for number in range(1, count + 1):
        yield generation(at_ms + number * gap_ms, number, [member("a", (0,))], group=group, cluster_id=cluster_id,
                         trigger=Trigger.MEMBER_JOINED, causes=(Trigger.MEMBER_JOINED,), stall=(0.5, 0.5))  # fmt: skip


def fleet(rng):
    """All events of two clusters, in no order."""
    events = []
    for cluster in ("c", "d"):
        for number in range(3):
            group = f"g{number}"
            events += random_history(rng.randrange(1 << 30), group=group, cluster_id=cluster, hours=48, rebalances=30)
            begin = MONDAY_MS + rng.randrange(DAYS * DAY_MS)
            events.append(rollout(begin, rng.randrange(2 * DAY_MS), (1, rng.randrange(2, 20)), group, cluster))
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


class Failing(DeltaTables):
    """Tables whose ``last`` write fails, as that of a process that is killed."""

    last = 99

    def overwrite(self, name, frame, where=None):
        self.last -= 1
        if self.last < 0:
            raise InterruptedError
        super().overwrite(name, frame, where)


def comparable(frame):
    """Rows without order; sums of fractions depend on the order of summation in their last digits."""
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


@pytest.mark.parametrize("seed", range(3))
def test_increments_give_the_tables_of_a_full_run(spark, tmp_path, seed):
    rng = random.Random(seed)
    tables = Failing(spark, str(tmp_path / "tables"))
    steps = []
    waiting, known = fleet(rng), []
    if rng.random() < 0.5:
        waiting.sort(key=lambda event: event.timestamp_ms)
    pieces = 4
    for number in range(pieces):
        new = waiting[number * len(waiting) // pieces : (number + 1) * len(waiting) // pieces]
        # Late for some, far in the past for others; sometimes it is of an event that came in the same increment.
        revisable = [event for event in known + new if isinstance(event, GenerationEvent | RolloutEvent)]
        again = [revised(rng, event) for event in rng.sample(revisable, 3 if known else 0)]
        for batch in (new, again):
            if batch:
                tables.merge("events", events_frame(spark, batch, rng.choice([INGESTED, BEHIND])))
        known += new
        if number and rng.random() < 0.5:
            gone = rng.sample(known, 3)
            tables.remove("events", events_frame(spark, gone).select("event_id"))
        if rng.random() < 0.5:
            tables.last = rng.randrange(3)
            with pytest.raises(InterruptedError):
                update(tables, NOW_MS, steps.append)
            tables.last = 99
        update(tables, NOW_MS, steps.append)
        assert_as_full(tables)
    assert any("days of groups" in step for step in steps)
