"""Events as rows of the pipeline's table, and groups with a known history."""

from __future__ import annotations

import datetime as dt
import random

from rebalance_agent.model.episode import Basis, Evidence, FailureReason, Phases, Source, Stall, Trigger
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import AbortedEvent, GroupGoneEvent, MemberSnapshot
from rebalance_agent.model.group import GroupType, RebalanceProtocol
from rebalance_agent.model.group_event import event_id
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.pipeline.ingest.event_rows import event_row
from rebalance_agent.pipeline.tables.schemas import EVENTS
from support.observer.fakes import generation_event
from support.observer.views import member_event

MONDAY_MS = 1_704_067_200_000  # 2024-01-01 00:00 UTC
HOUR_MS = 3_600_000
INGESTED = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


def events_frame(spark, events, ingested_at=INGESTED, *, numbered=False):
    """Rows of table ``events`` from these events or lines of JSON, as `ingest` creates them.

    ``numbered``: the offset is the number of the event, from 0.
    """
    lines = (event if isinstance(event, bytes) else json_line(event) for event in events)
    rows = [event_row(line)._asdict() for line in lines]
    nowhere = {"origin": "files", "ingested_at": ingested_at, "topic": None, "partition": None, "offset": None}
    whole = [{**row, **nowhere, "day": row["timestamp"].date()} for row in rows]
    if numbered:
        whole = [{**row, "offset": number} for number, row in enumerate(whole)]
    return spark.createDataFrame([tuple(row[name] for name in EVENTS.schema.names) for row in whole], EVENTS.schema)


def member(name, partitions=(), owned=(), **more):
    """A member with partitions of topic ``t``."""
    usual = {"instance_id": None, "client_id": f"client-{name}", "host": "/10.0.0.1", "topics": ("t",)}
    given = {"owned": {"t": tuple(owned)} if owned else {}, "assigned": {"t": tuple(partitions)} if partitions else {}}
    return MemberSnapshot(member_id=name, **{**usual, **given, **more})


def generation(
    at_ms, number, members=(), *, group="g", cluster_id="c", stall=None, started=None, joined=None, **fields
):
    """A generation of topic ``t``; ``stall`` is (seconds, partition-seconds)."""
    group_type = fields.get("group_type", GroupType.CLASSIC)
    partitions = fields.pop("partitions", sum(len(numbers) for each in members for numbers in each.assigned.values()))
    usual = {
        "event_id": event_id("generation", cluster_id, group, group_type, number, at_ms),
        "cluster_id": cluster_id,
        "group": group,
        "timestamp_ms": at_ms,
        "generation": number,
        "previous_generation": number - 1,
        "episode_generation": number,
        "phases": Phases(at_ms, Evidence.RECORD, started_ms=started, joined_ms=joined),
        "stall": None if stall is None else Stall(stall[0], stall[0], stall[1], Basis.BOUND),
        "members": tuple(members),
        "topics": {"t": partitions} if members else {},
        "unassigned": 0,
        "noop": False,
    }
    return generation_event(**{**usual, **fields})


def aborted(at_ms, number, generations=1, *, group="g", cluster_id="c"):
    return AbortedEvent(
        event_id("aborted", cluster_id, group, GroupType.CLASSIC, number, at_ms),
        cluster_id,
        group,
        at_ms,
        Source.RECORDS,
        GroupType.CLASSIC,
        number,
        FailureReason.ABORTED,
        generations=generations,
    )


def gone(at_ms, *, group="g", cluster_id="c"):
    identity = event_id("group_gone", cluster_id, group, GroupType.CLASSIC, 0, at_ms)
    return GroupGoneEvent(identity, cluster_id, group, at_ms, Source.RECORDS, GroupType.CLASSIC)


def reported(at_ms, *, group="g", cluster_id="c"):
    """A callback of one member, as its consumer posts it."""
    identity = event_id("member", cluster_id, group, GroupType.CLASSIC, 0, at_ms)
    return member_event(event_id=identity, cluster_id=cluster_id, group=group, timestamp_ms=at_ms, started_ms=at_ms)


def rollout(at_ms, length_ms, numbers, *, group="g", cluster_id="c"):
    """A deploy that ends at ``at_ms``; ``numbers``: its first and last generation."""
    identity = event_id("rollout", cluster_id, group, GroupType.CLASSIC, numbers[0], at_ms)
    return RolloutEvent(
        identity, cluster_id, group, at_ms, Source.RECORDS, GroupType.CLASSIC, at_ms - length_ms, *numbers,
        closed=False, rebalances=2, members=2, members_replaced=2, stalled_partition_seconds=1.0,
    )  # fmt: skip


def random_history(seed, *, group, cluster_id="c", hours=40, rebalances=60):
    """A random history of one classic or consumer group, in order: generations, aborted ones, and deletions."""
    rng = random.Random(seed)
    group_type = rng.choice([GroupType.CLASSIC, GroupType.CLASSIC, GroupType.CONSUMER])
    at_ms, number, partitions = MONDAY_MS + rng.randrange(hours * HOUR_MS), 0, rng.randrange(1, 40)
    for _ in range(rng.randrange(rebalances)):
        # Pauses: in bursts, of minutes, and of hours.
        at_ms += rng.choice([rng.randrange(1, 90_000), rng.randrange(HOUR_MS), rng.randrange(9 * HOUR_MS)])
        fate = rng.random()
        if fate < 0.04 and number:
            yield gone(at_ms, group=group, cluster_id=cluster_id)
            number = 0
            continue
        if fate < 0.12 and group_type is GroupType.CLASSIC:
            missing = rng.randrange(1, 4)
            number += missing
            yield aborted(at_ms, number, missing, group=group, cluster_id=cluster_id)
        number += 1
        yield _random_generation(rng, at_ms, number, partitions, group_type, group, cluster_id)


def _random_generation(rng, at_ms, number, partitions, group_type, group, cluster_id):
    count = rng.randrange(5)
    assigned = rng.randrange(partitions + 1) if count else 0
    numbers = rng.sample(range(partitions), assigned)
    members = [
        member(
            f"m{index}", sorted(numbers[index::count]), sorted(numbers[:index]), stop_seconds=rng.choice([None, 0.5])
        )
        for index in range(count)
    ]
    started = rng.choice([None, at_ms - rng.randrange(5_000)])
    closes = rng.random() < 0.85
    causes = tuple(rng.sample(list(Trigger), rng.randrange(1, 3)))
    seconds = rng.choice([rng.randrange(10) / 1000, rng.randrange(60_000) / 1000, rng.randrange(9_000_000) / 1000])
    moved = rng.randrange(20)
    slowest = rng.choice(members).member_id if members and rng.random() < 0.5 else None
    return generation(
        at_ms,
        number,
        members,
        group=group,
        cluster_id=cluster_id,
        group_type=group_type,
        partitions=partitions,
        unassigned=partitions - assigned if members else 0,
        stall=(seconds, seconds * rng.randrange(partitions + 1)) if closes and rng.random() < 0.8 else None,
        started=started,
        joined=rng.choice([None, at_ms - rng.randrange(3_000)]),
        closes_episode=closes,
        followups=rng.randrange(3) if closes else 0,
        protocol=rng.choice(list(RebalanceProtocol)),
        trigger=causes[0],
        causes=causes,
        noop=rng.random() < 0.2,
        moved=moved,
        needed=rng.choice([None, rng.randrange(20)]),
        skew_ratio=rng.choice([None, 1 + rng.randrange(100) / 50]),
        slowest_member_id=slowest,
        slowest_seconds=rng.randrange(9_000) / 1000 if slowest else None,
        flapping=rng.choice([None, None, ("b", "a"), ("c",)]),
        revision=rng.randrange(3),
    )
