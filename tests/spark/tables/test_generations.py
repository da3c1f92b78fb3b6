"""Generations and members: one row each, with the values of their events."""

from __future__ import annotations

import dataclasses
import json
import random
from pathlib import Path

import pytest

from rebalance_agent.model.episode import Source
from rebalance_agent.model.event_json import event_from_json, event_to_json, json_line, json_object
from rebalance_agent.model.events import GenerationEvent
from rebalance_agent.model.group import GroupType, StreamsMember
from rebalance_agent.model.group_event import event_id
from rebalance_agent.model.reported.workload import Workload
from rebalance_agent.model.rollout import RolloutEvent
from rebalance_agent.pipeline.tables import generations as module
from rebalance_agent.pipeline.tables.generations import generations
from rebalance_agent.pipeline.tables.members import members
from rebalance_agent.runtime.sinks.split_events import event_lines
from support.pipeline import aggregates
from support.pipeline.event_rows import MONDAY_MS, events_frame, generation, member, random_history

GOLDEN = Path(__file__).parents[2] / "golden" / "captured_topic_events.ndjson"


def reported(frame):
    """Rows as dictionaries, times in epoch milliseconds."""
    times = [name for name, kind in frame.dtypes if kind == "timestamp"]
    millis = frame.selectExpr(
        *(f"unix_millis(`{name}`) AS `{name}`" if name in times else f"`{name}`" for name in frame.columns)
    )
    return [row.asDict(recursive=True) for row in millis.collect()]


def as_expected(row, expected):
    return {name: row[name] for name in expected}


def rollout(started, ended, first, last, **fields):
    usual = {
        "event_id": event_id("rollout", "deploys", "g", GroupType.CLASSIC, first, started),
        "cluster_id": "deploys",
        "group": "g",
        "timestamp_ms": ended,
        "source": Source.RECORDS,
        "group_type": GroupType.CLASSIC,
        "started_ms": started,
        "first_generation": first,
        "last_generation": last,
        "closed": True,
        "rebalances": 2,
        "members": 2,
        "members_replaced": 2,
        "stalled_partition_seconds": 1.0,
    }
    return RolloutEvent(**{**usual, **fields})


DEPLOY = rollout(MONDAY_MS + 1_500, MONDAY_MS + 4_000, 2, 4)


def deploys():
    """Seven generations, the last one of a recreated group; a deploy with two ids, and another deploy elsewhere."""
    one = [member("a", (0,))]
    for second, number in enumerate((1, 2, 3, 4, 5, 6), 1):
        yield generation(MONDAY_MS + second * 1_000, number, one, cluster_id="deploys")
    yield generation(MONDAY_MS + 90_000, 3, one, cluster_id="deploys")
    yield DEPLOY
    yield dataclasses.replace(DEPLOY, event_id="later", started_ms=MONDAY_MS + 2_500, first_generation=3)
    yield dataclasses.replace(DEPLOY, event_id="other", group="h", last_generation=9)


def large(number, **fields):
    members = [member(f"m{each}", (each,)) for each in range(40)]
    return generation(MONDAY_MS + number, number, members, cluster_id="parts", **fields)


def split(event):
    """At least three parts, in no order."""
    parts = [part for part, _ in event_lines(event, len(json_line(event)) * 2 // 5)]
    assert len(parts) >= 3
    random.Random(1).shuffle(parts)
    return parts


def numbered(parts, *numbers):
    return [part for part in parts if part.part in numbers]


WHOLE, MISSING, OLD = large(1), large(2), large(3)
NEW = dataclasses.replace(OLD, revision=1, moved=5)
PARTS = [*split(WHOLE), *numbered(split(MISSING), 0, 1), *numbered(split(NEW), 0), *numbered(split(OLD), 1, 2, 3)]

WHERE = Workload("pod-1", "node-1", "orders", "orders:7")
STREAMS = generation(
    MONDAY_MS + 1,
    1,
    [
        member("a", (0, 1), streams=StreamsMember("p", "h:7001", {"0": (0, 1), "1": (0,)}, {"0": (2, 3, 4)})),
        member("b", streams=StreamsMember("q", warmup={"1": (0,)})),
        member("c"),
    ],
    cluster_id="streams",
    group_type=GroupType.STREAMS,
    assignor_wait_seconds=0.75,
)
SHARE = [
    generation(
        at_ms, number, given, **more, cluster_id="shared", group_type=GroupType.SHARE, assignor=None, needed=None
    )
    for at_ms, number, given, more in (
        (MONDAY_MS + 1, 1, [member("a", (0, 1, 2))], {}),
        (
            *(MONDAY_MS + 60_000, 2, [member("a", (0, 1)), member("b", (1, 2)), member("c", (1,))]),
            {
                "stall": (2.0, 2.0),
                "started": MONDAY_MS + 55_000,
                "joined": MONDAY_MS + 56_000,
                "partitions": 3,
                "moved": 1,
            },
        ),
    )
]
"""A share group: partition 1 has three members, and partition 2 moved from a to b."""
REPORTED = generation(
    MONDAY_MS,
    1,
    [
        member("a", (0, 1, 2, 7), instance_id="a-1", rack="r1", where=WHERE, session_timeout_ms=45_000),
        member("b", (), rack=""),
    ],
    cluster_id="reported",
)


@pytest.fixture(scope="module")
def history():
    """Recorded events, random ones of many groups, and other content of an events stream."""
    recorded = [event_from_json(json_object(line)) for line in GOLDEN.read_bytes().splitlines()]
    drawn = [event for seed in range(30) for event in random_history(seed, group=f"g{seed}")]
    return [*recorded, *drawn, *deploys(), REPORTED, STREAMS, *SHARE]


@pytest.fixture(scope="module")
def frame(spark, history):
    frame = generations(events_frame(spark, [*history, *PARTS])).cache()
    yield frame
    frame.unpersist()


@pytest.fixture(scope="module")
def rows(frame):
    return {row["event_id"]: row for row in reported(frame)}


@pytest.fixture(scope="module")
def member_rows(frame):
    return {(row["event_id"], row["member_id"]): row for row in reported(members(frame))}


def test_each_generation_is_a_row_with_the_values_of_its_event(rows, history):
    events = {event.event_id: event for event in history if isinstance(event, GenerationEvent)}
    assert len(events) > 500
    assert rows.keys() == events.keys() | {WHOLE.event_id}
    for identity, event in events.items():
        expected = aggregates.generation_row(event)
        assert as_expected(rows[identity], expected) == expected
        assert event_from_json(json_object(rows[identity]["body"].encode())) == event


def test_each_member_is_a_row(member_rows, history):
    expected = {
        (row["event_id"], row["member_id"]): row
        for event in (*history, WHOLE)
        if isinstance(event, GenerationEvent)
        for row in aggregates.member_rows(event)
    }
    assert {key: as_expected(row, expected[key]) for key, row in member_rows.items()} == expected


def test_facts_known_only_to_sidecars_are_in_the_members_rows(member_rows):
    first, second = (member_rows[REPORTED.event_id, name] for name in "ab")
    expected = {"instance_id": "a-1", "rack": "r1", "pod": "pod-1", "node": "node-1", "workload": "orders"}
    expected |= {"image": "orders:7", "partitions": 4, "session_timeout_ms": 45_000, "topics": ["t"]}
    assert as_expected(first, expected) == expected
    nothing = {"instance_id": None, "rack": None, "pod": None, "partitions": 0, "owned": 0}
    assert as_expected(second, nothing) == nothing


def test_members_of_streams_groups_have_their_process_and_numbers_of_tasks(member_rows):
    names = ("process_id", "active_tasks", "standby_tasks", "warmup_tasks")
    found = [tuple(member_rows[STREAMS.event_id, member][name] for name in names) for member in "abc"]
    assert found == [("p", 3, 3, 0), ("q", 0, 0, 1), (None, None, None, None)], "c: an event of an earlier release"


def test_a_share_group_has_no_skew_no_excess_and_no_join_phase(rows, member_rows):
    row = rows[SHARE[1].event_id]
    expected = {"group_type": "share", "member_count": 3, "partition_count": 3, "moved": 1, "unassigned": 0}
    expected |= {"stall_seconds": 2.0, "reconcile_seconds": 4.0}
    expected |= dict.fromkeys(("join_seconds", "sync_seconds", "skew_ratio", "excess", "assignor"))
    assert as_expected(row, expected) == expected
    found = [member_rows[SHARE[1].event_id, name] for name in "abc"]
    assert [(each["partitions"], each["active_tasks"], each["stop_seconds"]) for each in found] == [
        (2, None, None), (2, None, None), (1, None, None)
    ]  # fmt: skip


def test_members_of_streams_groups_have_their_endpoint_and_active_tasks_by_subtopology(member_rows):
    found = [(row["endpoint"], row["subtopologies"]) for row in (member_rows[STREAMS.event_id, name] for name in "abc")]
    assert found == [("h:7001", {"0": 2, "1": 1}), (None, {}), (None, None)]


def test_a_generation_of_a_group_whose_coordinator_assigns_has_its_wait_for_the_assignor(rows):
    assert rows[STREAMS.event_id]["assignor_wait_seconds"] == 0.75
    assert rows[REPORTED.event_id]["assignor_wait_seconds"] is None


def test_parts_in_any_order_are_joined_under_the_first_ones_id(rows):
    row, expected = rows[WHOLE.event_id], aggregates.generation_row(WHOLE)
    assert as_expected(row, expected) == expected
    assert event_from_json(json_object(row["body"].encode())) == WHOLE


def test_an_event_with_a_missing_part_or_one_of_another_revision_is_omitted(rows):
    assert [identity for identity, row in rows.items() if row["cluster_id"] == "parts"] == [WHOLE.event_id]


def test_an_event_whose_parts_are_too_large_together_is_omitted(spark, monkeypatch):
    """The bodies of an event are collected in one row, and Spark cannot hold a row of two gigabytes."""
    parts = split(WHOLE)
    size = sum(len(json_line(part)) for part in parts)
    counts = []
    for limit in (size, size - 1):
        monkeypatch.setattr(module, "EVENT_CHARACTERS_MAX", limit)
        counts.append(generations(events_frame(spark, parts)).count())
    assert counts == [1, 0]


def test_a_generation_has_the_id_of_its_deploy(rows):
    of_group = [row for row in rows.values() if row["cluster_id"] == "deploys"]
    found = {(row["completed_at"] - MONDAY_MS) // 1_000: row["rollout"] for row in of_group}
    assert found == {second: DEPLOY.event_id if second in (2, 3, 4) else None for second in (1, 2, 3, 4, 5, 6, 90)}


def test_fields_that_this_release_does_not_know_stay_in_a_joined_body():
    parts = []
    for number, name in enumerate("ab"):
        part = event_to_json(generation(MONDAY_MS, 1, [member(name)], part=number, parts=2))
        part["members"][0]["news"] = 1
        parts.append(json.dumps(part | {"later": "é\ud800"}))
    whole = json.loads(module.joined_body(parts))
    assert [(each["member_id"], each["news"]) for each in whole["members"]] == [("a", 1), ("b", 1)]
    assert (whole["part"], whole["parts"]) == (0, 1)
    assert whole["later"].startswith("é")
