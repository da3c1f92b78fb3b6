"""Fleets whose events change between runs of `aggregate`. Each case is a cluster, so one job computes all of them."""

from __future__ import annotations

import dataclasses
import datetime as dt
from functools import cached_property

from pyspark.sql import functions as F  # noqa: N812 - the conventional alias

from rebalance_agent.model.episode import Evidence, Phases, Trigger
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.pipeline.increments import reach
from rebalance_agent.pipeline.table_schema import GROUP_DAY
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
    reported,
    rollout,
)

DAY_MS = 24 * HOUR_MS
STATES = ("before", "between", "after")
"""States of the events: at the last run, at a run that was killed after its last write, and at this run."""

EARLY, LATE = (dt.datetime.fromtimestamp((MONDAY_MS + days * DAY_MS) / 1000, dt.UTC) for days in (3, 9))
"""Ingestion times of some events, by clocks that are behind that of their cluster."""

GAPS_MS = (30_000, 58_000, 5 * HOUR_MS, 30 * HOUR_MS, 60 * HOUR_MS, 120 * HOUR_MS)


@dataclasses.dataclass
class Version:
    """A version of an event: when it was ingested, and the states that contain it."""

    event: object
    states: tuple[str, ...]
    ingested: dt.datetime = INGESTED


class Fleet:
    """The events of all clusters, in each state.

    Clusters of different states have different names while their tables are computed, so that one job computes all.
    """

    def __init__(self, spark, versions):
        columns = f"offset BIGINT, ingested_at TIMESTAMP, {', '.join(f'{state} BOOLEAN' for state in STATES)}"
        of_versions = spark.createDataFrame(
            [
                (number, version.ingested, *(state in version.states for state in STATES))
                for number, version in enumerate(versions)
            ],
            columns,
        )
        # The offset only numbers the rows, to join them with their states.
        rows = events_frame(spark, [version.event for version in versions], numbered=True)
        whole = rows.drop("ingested_at").join(F.broadcast(of_versions), "offset").persist()
        self.changes = whole.where("NOT (before = between AND between = after)")
        states = F.array_compact(F.array(*(F.when(F.col(state), F.lit(state)) for state in STATES)))
        self.events = (
            whole.withColumn("state", F.explode(states))
            .withColumn("cluster_id", F.concat_ws("/", "state", "cluster_id"))
            .drop("state", *STATES)
            .persist()
        )
        self.rows = generations(self.events).persist()

    def after(self):
        """Tables `generations` and `events` after all changes."""
        return tuple(
            frame.where(F.col("cluster_id").startswith("after/")).withColumn(
                "cluster_id", F.substring_index("cluster_id", "/", -1)
            )
            for frame in (self.rows, self.events)
        )

    @cached_property
    def days_of_hours(self):
        return reach.days_of_hours(self.changes, *self.after()).persist()

    def days_of_generations(self):
        return reach.days_of_generations(self.changes, self.after()[1])

    def hours(self):
        return by_day(group_hours(self.rows, self.events))

    def hours_of_found_days(self):
        keys = self.days_of_hours
        days = [row["day"] for row in keys.select("day").distinct().collect()]
        return by_day(group_hours(*self.after(), GroupDays(keys, days)))


def keys_of(frame):
    """The days of groups as tuples."""
    return {tuple(row) for row in frame.select(*GROUP_DAY).collect()}


def by_day(frame):
    """The rows of each day of a group as one number, which differs if the rows differ.

    Sums of fractions depend on the order of summation in their last digits, so they are rounded.
    """
    doubles = {name: F.round(name, 6) for name, kind in frame.dtypes if kind == "double"}
    row = F.xxhash64(F.to_json(F.struct(*(name for name in frame.columns if name not in GROUP_DAY))))
    digests = frame.withColumns(doubles).groupBy(*GROUP_DAY).agg(F.bit_xor(row).alias("rows"))
    return {(row["cluster_id"], row["group"], row["day"]): row["rows"] for row in digests.collect()}


def of_state(rows, state):
    """The rows of this state, under the clusters' own names."""
    return {
        (cluster.removeprefix(f"{state}/"), *more): row
        for (cluster, *more), row in rows.items()
        if cluster.startswith(f"{state}/")
    }


def different(rows, state):
    """The days whose rows differ between this state and the last one."""
    then, now = of_state(rows, state), of_state(rows, "after")
    return {key for key in then.keys() | now.keys() if then.get(key) != now.get(key)}


def random_cluster(rng, cluster):
    """Versions of two groups' events; some are added, deleted or replaced from state to state."""
    events = [event for group in ("g", "h") for event in _history(rng, cluster, group)]
    chosen = rng.sample(events, min(len(events), rng.randrange(5)))
    for event in events:
        ingested = rng.choice([INGESTED, INGESTED, INGESTED, EARLY, LATE])
        if event not in chosen:
            yield Version(event, STATES, ingested)
        elif rng.random() < 0.3:
            first = rng.randrange(1, 3)
            yield Version(event, STATES[:first], ingested)
            yield Version(_revised(rng, event), STATES[first:], ingested)
        else:
            # Most often it is new; sometimes it is deleted, or exists in some states only.
            some = rng.choice([STATES[1:], STATES[2:], STATES[2:], STATES[:1], STATES[:2], STATES[1:2], STATES[::2]])
            yield Version(event, some, ingested)


def _history(rng, cluster, group):
    at_ms = MONDAY_MS + rng.randrange(2 * DAY_MS)
    for number in range(1, rng.randrange(2, 11)):
        at_ms += rng.choice(GAPS_MS) + rng.randrange(2_000)
        fate = rng.random()
        if fate < 0.15:
            yield gone(at_ms, group=group, cluster_id=cluster)
        elif fate < 0.25:
            yield aborted(at_ms, number, group=group, cluster_id=cluster)
        elif fate < 0.35:
            numbers = (max(number - 3, 1), number + 2)
            yield rollout(at_ms, rng.randrange(4 * DAY_MS), numbers, group=group, cluster_id=cluster)
        else:
            yield _random_generation(rng, at_ms, number, cluster, group)
    if rng.random() < 0.5:
        yield reported(at_ms + DAY_MS, group=group, cluster_id=cluster)


def _random_generation(rng, at_ms, number, cluster, group):
    members = [member("a", range(rng.randrange(1, 9)))] if rng.random() < 0.85 else []
    closes = rng.random() < 0.85
    seconds = rng.choice([0.0004, 20, rng.randrange(100 * 3600)])
    trigger = rng.choice([Trigger.GROUP_STARTED, Trigger.MEMBER_JOINED])
    # The time in the phases is that of the record; it is the same unless a clock is wrong.
    completed_ms = at_ms if rng.random() < 0.9 else at_ms + rng.randrange(-2 * DAY_MS, 2 * DAY_MS)
    return generation(
        at_ms, number, members, group=group, cluster_id=cluster, closes_episode=closes, trigger=trigger,
        causes=(trigger,), stall=(seconds, seconds) if closes and rng.random() < 0.7 else None,
        phases=Phases(completed_ms, Evidence.RECORD),
    )  # fmt: skip


def _revised(rng, event):
    at_ms = event.timestamp_ms + rng.randrange(-2 * DAY_MS, 2 * DAY_MS)
    more = {"phases": Phases(at_ms, Evidence.RECORD), "stall": None} if isinstance(event, GenerationEvent) else {}
    return dataclasses.replace(event, timestamp_ms=at_ms, revision=event.revision + 1, **more)


def assert_all_found(fleet):
    """Assert that all days whose rows differ are found, and few others, with the rows of a full run."""
    hours, rows = fleet.hours(), by_day(fleet.rows)
    found, of_generations = keys_of(fleet.days_of_hours), keys_of(fleet.days_of_generations())
    for state in STATES[:2]:
        assert different(hours, state) - found == set(), state
        assert different(rows, state) - of_generations == set(), state
    now = of_state(hours, "after")
    assert fleet.hours_of_found_days() == {key: row for key, row in now.items() if key in found}
    # Otherwise the cases are too few, or too many days are computed.
    assert len(different(hours, "before")) > len(now) / 10
    assert len(found) < 0.7 * len(now)
