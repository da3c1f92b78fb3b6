"""Any order of increments, late, revised and deleted events and failed runs gives the tables of one full run."""

from __future__ import annotations

import dataclasses
import datetime as dt
import random

import pytest
from delta.tables import DeltaTable

from rebalance_agent.model.episode import Evidence, Phases, Source, Trigger
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.group import GroupType
from rebalance_agent.model.group_event import event_id
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.pipeline.errors import PipelineError
from rebalance_agent.pipeline.increments.increment import update
from rebalance_agent.pipeline.tables.delta_tables import KEEPS_CHANGES, DeltaTables
from rebalance_agent.pipeline.tables.generations import generations
from rebalance_agent.pipeline.tables.group_hours import group_hours
from rebalance_agent.pipeline.tables.members import members
from rebalance_agent.pipeline.tables.schemas import GENERATIONS
from support.pipeline.event_rows import HOUR_MS, INGESTED, MONDAY_MS, events_frame, generation, member, random_history

DAY_MS = 24 * HOUR_MS
DAYS = 4
PIECES = 3
NOW_MS = MONDAY_MS + 30 * DAY_MS
MADE = ("generations", "members", "group_hours")
BEHIND = dt.datetime.fromtimestamp((MONDAY_MS + 2 * DAY_MS) / 1000, dt.UTC)
"""The time of reading of some events, by a clock that is behind that of their cluster."""

CHECKS_RETENTION = "spark.databricks.delta.retentionDurationCheck.enabled"


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
        for number in range(2):
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


class KilledError(Exception):
    """A process is killed."""


class Interrupted(DeltaTables):
    """Tables of which one write is interrupted: ``interrupt`` is called after that many writes, or right before."""

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


def run(tables, **more):
    """The steps of a run."""
    steps = []
    update(tables, more.pop("now_ms", NOW_MS), steps.append, **more)
    return steps


def is_increment(steps):
    return any("days of groups" in step for step in steps)


@pytest.mark.parametrize("seed", range(3))
def test_increments_give_the_tables_of_a_full_run(spark, tmp_path, seed):
    rng = random.Random(seed)
    tables = Interrupted(spark, str(tmp_path / "tables"))
    waiting, known = fleet(rng), []
    if seed == 0:
        waiting.sort(key=lambda event: event.timestamp_ms)
    for number in range(PIECES):
        new = waiting[number * len(waiting) // PIECES : (number + 1) * len(waiting) // PIECES]
        # Late for some, far in the past for others; sometimes it is of an event that came in the same increment.
        revisable = [event for event in known + new if isinstance(event, GenerationEvent | RolloutEvent)]
        again = [revised(rng, event) for event in rng.sample(revisable, 3 if known else 0)]
        for batch in (new, again):
            if batch:
                tables.merge("events", events_frame(spark, batch, rng.choice([INGESTED, BEHIND])))
        known += new
        if number:
            tables.remove("events", events_frame(spark, rng.sample(known, 2)).select("event_id"))
            tables.writes, tables.after = rng.randrange(1, 4), rng.random() < 0.5
            with pytest.raises(KilledError):
                run(tables)
            tables.writes = 99
            # What the killed run has read is gone in part.
            tables.remove("events", events_frame(spark, rng.sample(new, 2)).select("event_id"))
        assert is_increment(run(tables)) == (number > 0)
    assert_as_full(tables)


def days_of(spark, tables, first, last):
    """Store a generation on each of these days."""
    events = [
        generation(MONDAY_MS + day * DAY_MS + HOUR_MS, day, [member("a", (0, 1))]) for day in range(first, last + 1)
    ]
    tables.merge("events", events_frame(spark, events))


def test_a_run_without_new_events_changes_nothing(spark, tables):
    days_of(spark, tables, 1, 3)
    assert run(tables)[0] == "all days: no run of this release has finished"
    files = tables.files("generations")
    tables.compact("events")
    assert run(tables) == []
    assert tables.files("generations") == files


def test_all_days_are_computed_if_the_changes_are_unknown(spark, tables):
    days_of(spark, tables, 1, 2)
    run(tables)
    days_of(spark, tables, 3, 3)
    assert run(tables, full=True)[0] == "all days: as requested"
    days_of(spark, tables, 4, 4)
    assert run(tables, now_ms=NOW_MS + 7 * DAY_MS)[0] == "all days: the last run was more than 6 days ago"
    tables.spark.sql(f"ALTER TABLE delta.`{tables.path('events')}` UNSET TBLPROPERTIES ({KEEPS_CHANGES})")
    days_of(spark, tables, 5, 5)
    assert run(tables)[0] == "all days: events does not keep its changes"
    days_of(spark, tables, 6, 6)
    assert is_increment(run(tables))
    assert_as_full(tables)


def test_tables_of_an_older_release_are_computed_once_and_then_updated(spark, tables):
    days_of(spark, tables, 1, 2)
    old = spark.createDataFrame([], GENERATIONS.schema).drop("day")
    old.write.format("delta").save(tables.path("generations"))
    assert not is_increment(run(tables))
    days_of(spark, tables, 3, 3)
    assert is_increment(run(tables))
    assert_as_full(tables)


def test_all_days_are_computed_if_the_files_of_changes_are_deleted(spark, tables):
    days_of(spark, tables, 1, 3)
    run(tables)
    moved = generation(MONDAY_MS + 2 * DAY_MS + HOUR_MS, 2, [member("b", (0, 1))], revision=1)
    tables.merge("events", events_frame(spark, [moved]))
    spark.conf.set(CHECKS_RETENTION, "false")
    try:
        DeltaTable.forPath(spark, tables.path("events")).vacuum(0)
    finally:
        spark.conf.unset(CHECKS_RETENTION)
    assert run(tables)[0].startswith("all days: the changes of events cannot be read: ")
    assert_as_full(tables)


@pytest.mark.parametrize("after", [False, True])
def test_of_two_runs_at_once_the_later_one_finishes(spark, tmp_path, after):
    slow = Interrupted(spark, str(tmp_path / "tables"))
    days_of(spark, slow, 1, 3)
    run(slow)
    days_of(spark, slow, 4, 4)

    def other_run():
        days_of(spark, slow, 5, 5)
        run(DeltaTables(spark, slow.folder))

    slow.writes, slow.after, slow.interrupt = 2, after, other_run
    with pytest.raises(PipelineError, match="another run has begun"):
        run(slow)
    assert_as_full(slow)
    assert run(DeltaTables(spark, slow.folder)) == []
