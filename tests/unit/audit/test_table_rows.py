"""Compares rows of tables with their events."""

from __future__ import annotations

import pytest

from rebalance_agent.audit.table_rows import (
    EVENT_COLUMNS,
    GENERATION_COLUMNS,
    MEMBER_COLUMNS,
    TableRows,
    contradictions,
)
from rebalance_agent.model.group import StreamsMember
from rebalance_agent.model.reported.workload import Workload
from rebalance_agent.pipeline.tables.schemas import EVENTS, GENERATIONS, MEMBERS
from support.pipeline.event_rows import aborted, generation, gone, member

WHERE = Workload("pod", "node", "deployment", "image:1")
EVENT = generation(
    1_700_000_000_000,
    7,
    [
        member("a", (0, 1), owned=(1,), rack="r", where=WHERE, stop_seconds=0.5),
        member("b", (2,), rack="", streams=StreamsMember("p", "h:7001", {"0": (0,), "1": (1,)}, warmup={"0": (2,)})),
    ],
    stall=(1.5, 4.5),
    started=1_699_999_998_500,
    joined=1_699_999_999_500,
    moved=3,
    needed=1,
    slowest_member_id="b",
    flapping=("a",),
)

EVENT_ROW = {
    "event_id": EVENT.event_id,
    "kind": "generation",
    "cluster_id": "c",
    "group": "g",
    "generation": 7,
    "source": "records",
    "revision": 0,
    "part": 0,
    "parts": 1,
    "timestamp_ms": 1_700_000_000_000,
}
GENERATION_ROW = {
    **{name: EVENT_ROW[name] for name in ("event_id", "cluster_id", "group", "generation", "source", "revision")},
    "group_type": "classic",
    "previous_generation": 6,
    "episode_generation": 7,
    "closes_episode": True,
    "followups": 0,
    "epoch_kind": "generation",
    "assignor": EVENT.assignor,
    "protocol": EVENT.protocol.value,
    "trigger": EVENT.trigger.value,
    "causes": [each.value for each in EVENT.causes],
    "moved": 3,
    "needed": 1,
    "excess": 2,
    **{name: getattr(EVENT, name) for name in ("revoked", "assigned", "lost", "lost_min", "unassigned", "noop")},
    "skew_ratio": EVENT.skew_ratio,
    "imbalance": EVENT.imbalance,
    "topics": {"t": 3},
    "join_seconds": 1.0,
    "sync_seconds": 0.5,
    "assignor_wait_seconds": None,
    "reconcile_seconds": None,
    "slowest_member_id": "b",
    "slowest_client_id": "client-b",
    "slowest_seconds": EVENT.slowest_seconds,
    "slowest_lower_seconds": EVENT.slowest_lower_seconds,
    "flapping": ["a"],
    "completed_ms": 1_700_000_000_000,
    "started_ms": 1_699_999_998_500,
    "stall_seconds": 1.5,
    "stall_upper_seconds": 1.5,
    "stall_basis": "bound",
    "stalled_partition_seconds": 4.5,
    "member_count": 2,
    "partition_count": 3,
}
MEMBER_ROWS = [
    {
        "member_id": "a",
        "client_id": "client-a",
        "instance_id": None,
        "host": "10.0.0.1",
        "rack": "r",
        "pod": "pod",
        "node": "node",
        "workload": "deployment",
        "image": "image:1",
        "topics": ["t"],
        "partitions": 2,
        "owned": 1,
        "stop_seconds": 0.5,
        "session_timeout_ms": None,
        "rebalance_timeout_ms": None,
        **dict.fromkeys(("process_id", "endpoint", "active_tasks", "standby_tasks", "warmup_tasks", "subtopologies")),
    },
    {
        **dict.fromkeys(MEMBER_COLUMNS),
        "process_id": "p",
        "active_tasks": 2,
        "standby_tasks": 0,
        "warmup_tasks": 1,
        "endpoint": "h:7001",
        "subtopologies": {"1": 1, "0": 1},
        "member_id": "b",
        "client_id": "client-b",
        "host": "10.0.0.1",
        "topics": ["t"],
        "partitions": 1,
        "owned": 0,
    },
]


@pytest.mark.parametrize(("columns", "row"), [(EVENT_COLUMNS, EVENT_ROW), (GENERATION_COLUMNS, GENERATION_ROW)])
def test_exactly_the_wrong_columns_are_named(columns, row):
    assert row.keys() == set(columns)
    assert list(contradictions(EVENT, row)) == []
    for name, value in row.items():
        wrong = "x" if value is None or isinstance(value, (str, list, dict)) else value + 1
        (what,) = contradictions(EVENT, {**row, name: wrong})
        assert what == f"{name} is {wrong!r}, but its body contains {value!r}"


@pytest.mark.parametrize("event", [aborted(1_700_000_000_000, 7), gone(1_700_000_000_000)])
def test_rows_of_other_events_are_compared_too(event):
    row = {
        **EVENT_ROW,
        "event_id": event.event_id,
        "kind": event.KIND,
        "generation": getattr(event, "generation", None),
    }
    assert list(contradictions(event, row)) == []
    assert list(contradictions(event, {**row, "parts": 2})) == ["parts is 2, but its body contains 1"]


def test_uncompared_columns_of_the_tables_are_listed():
    """A new column must be compared, or be listed here."""
    times = {"timestamp": "timestamp_ms", "completed_at": "completed_ms", "started_at": "started_ms"}

    def left(table, columns):
        return {times.get(name, name) for name in table.schema.names} - set(columns)

    nowhere = {"body", "origin"}  # the source of the row, and the key of the comparison
    when = {"schema_version", "ingested_at", "day", "topic", "partition", "offset"}
    assert left(EVENTS, EVENT_COLUMNS) == {*nowhere, *when}
    assert left(GENERATIONS, GENERATION_COLUMNS) == {*nowhere, "day", "rollout"}  # a row of an event without a record
    assert left(MEMBERS, MEMBER_COLUMNS) == {"event_id", "cluster_id", "group", "generation", "completed_ms", "day"}


def rosters(*rows, event=EVENT):
    found = TableRows()
    found.add_event(event)
    for row in rows:
        found.add_row(EVENT.event_id, "g", 7, row)
    return [(each.group, each.number, each.what) for each in found.differences()]


def test_correct_rows_of_members_have_no_difference():
    assert rosters(*MEMBER_ROWS) == []


def test_a_missing_duplicate_or_additional_row_is_a_difference():
    one, two = MEMBER_ROWS
    for rows in ([one], [one, two, two], [one, one], [one, {**two, "member_id": "c"}]):
        assert rosters(*rows) == [
            ("g", 7, f"it has 2 members, but {len(rows)} rows of members, or rows of other members")
        ]


@pytest.mark.parametrize("name", MEMBER_COLUMNS)
def test_every_column_of_a_member_is_compared(name):
    one, two = MEMBER_ROWS
    assert rosters({**one, name: "else"}, two) != []


def test_members_of_a_missing_generation_are_named():
    found = TableRows()
    found.add_row("0" * 32, "g", 9, MEMBER_ROWS[0])
    (difference,) = found.differences()
    assert (difference.number, difference.what) == (
        9,
        "it has 0 members, but 1 rows of members, or rows of other members",
    )
    assert str(difference).endswith("(members where event_id = '00000000000000000000000000000000')")


def test_partitions_exchanged_between_two_rows_are_differences():
    one, two = MEMBER_ROWS
    assert rosters({**one, "partitions": 1}, {**two, "partitions": 2}) != []
