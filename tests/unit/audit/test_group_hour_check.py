"""Compares rows of `group_hours` with their generations."""

from __future__ import annotations

import pytest

from rebalance_agent.audit.group_hour_check import HOUR_COLUMNS, STALL_HOURS_MAX, GroupHourCheck
from rebalance_agent.model.events import AbortedEvent, GenerationEvent
from rebalance_agent.pipeline.tables.schemas import GROUP_HOURS
from support.pipeline import aggregates
from support.pipeline.event_rows import HOUR_MS, MONDAY_MS, aborted, generation, member, random_history

FOUR = (0, 1, 2, 3)
PEOPLE = [member("a", (0, 1)), member("b", (2, 3))]
COST = {"moved": 3, "needed": 2, "slowest_member_id": "a", "slowest_seconds": 1.5, "flapping": ("b",)}
EVENTS = [
    generation(MONDAY_MS + 1_000, 1, PEOPLE),
    *(generation(MONDAY_MS + HOUR_MS + 60_000 * at, 2 + at, PEOPLE, stall=(600.0, 2_400.0), **COST) for at in range(5)),
    aborted(MONDAY_MS + 2 * HOUR_MS, 8, 2),
    generation(MONDAY_MS + 2 * HOUR_MS + 1_000, 9, (), stall=(1.0, 4.0)),
    generation(MONDAY_MS + 2 * HOUR_MS + 2_000, 10, PEOPLE),
]
"""Three hours with rebalances, then one without."""
FIRST = MONDAY_MS // HOUR_MS
END_MS = MONDAY_MS + 4 * HOUR_MS


def rows_of(events, end_ms=END_MS, group="g"):
    hours = aggregates.group_hours(events, end_ms)
    return {number: {"group": group, "hour_ms": number * HOUR_MS, **hour} for number, hour in hours.items()}


def differences(events, rows, *, made_ms=END_MS, since_ms=0):
    """The differences of hours computed from events up to ``made_ms``, and the number of correct rows."""
    hours = GroupHourCheck()
    for event in events:
        if isinstance(event, GenerationEvent):
            hours.add(event)
        elif isinstance(event, AbortedEvent):
            hours.abort(event, must=event.timestamp_ms <= made_ms)
    found = [(each.group, each.number, each.what) for each in hours.differences(rows, since_ms)]
    return found, hours.agreed


@pytest.mark.parametrize("seed", range(60))
def test_hours_are_the_sums_of_their_generations(seed):
    events = [*random_history(seed, group="g")]
    rows = rows_of(events, max((each.timestamp_ms for each in events), default=0) + 977_777)
    assert differences(events, rows.values()) == ([], len(rows))


def test_generations_may_be_in_any_order():
    others = [*random_history(1, group="other")]
    rows = [*rows_of(EVENTS).values(), *rows_of(others, others[-1].timestamp_ms, "other").values()]
    assert differences([*EVENTS[::-1], *others[::-1]], rows) == ([], len(rows))
    assert differences(EVENTS[::-1], [])[0][0][1] == 10


def test_a_series_of_rebalances_counts_in_the_hour_of_its_start():
    events = [generation(MONDAY_MS + HOUR_MS + 1_000 * at, 3 + at, PEOPLE) for at in range(-2, 3)]
    rows = rows_of(events)
    assert [each["storms"] for each in rows.values()] == [1, 0, 0, 0]
    assert differences(events, rows.values()) == ([], 4)


def test_partition_seconds_below_the_stalled_ones_are_a_difference():
    rows = rows_of(EVENTS)
    rows[FIRST]["partition_seconds"] = 9_599.0
    (more,), _ = differences(EVENTS, rows.values())
    assert more[2].endswith(" partition_seconds is 9599.0, but 9600.0 partition-seconds were stalled")


WRONG = {"by_trigger": {"rejoin": 9}, "flapping": ["x"], "slowest_client_id": "x", "partition_seconds": None}


@pytest.mark.parametrize("name", HOUR_COLUMNS)
@pytest.mark.parametrize(("hour", "last"), [(FIRST + 1, 6), (FIRST + 2, 10)])
def test_every_wrong_column_is_named_with_the_hour_and_its_last_generation(name, hour, last):
    rows = rows_of(EVENTS)
    wrong = WRONG[name] if name in WRONG else (rows[hour][name] or 0) + 0.5
    rows[hour][name] = wrong
    found, agreed = differences(EVENTS, rows.values())
    assert {each[:2] for each in found} == {("g", last)}
    assert found[0][2].startswith(f"in the hour 2024-01-01T0{hour - FIRST}:00Z {name} is {wrong!r}, ")
    assert len(found) == 1 + (name == "stalled_partition_seconds")  # from which the availability is computed
    assert agreed == len(rows) - 1


def test_missing_duplicate_and_invented_hours_are_named():
    rows = rows_of(EVENTS)
    quiet, busy = rows[FIRST + 3], rows[FIRST + 1]
    assert differences(EVENTS, [each for each in rows.values() if each is not quiet]) == ([], 3)
    (missing,), _ = differences(EVENTS, [each for each in rows.values() if each is not busy])
    assert missing == ("g", 6, "in the hour 2024-01-01T01:00Z it has no row")
    (doubled,), _ = differences(EVENTS, [*rows.values(), busy])
    assert doubled == ("g", 6, "in the hour 2024-01-01T01:00Z it has two rows")
    assert {each[0] for each in differences(EVENTS, [*rows.values(), {**busy, "group": "nobody"}])[0]} == {"nobody"}


def test_aborted_generations_count_if_older_than_the_hours_computation_and_may_count_otherwise():
    rows = rows_of(EVENTS)
    late = aborted(END_MS - 1, 12, 3)
    assert differences([*EVENTS, late], rows.values(), made_ms=END_MS - 2) == ([], 4)
    assert differences([*EVENTS, late], rows_of([*EVENTS, late]).values(), made_ms=END_MS - 2) == ([], 4)
    (lost,), _ = differences([*EVENTS, late], rows.values())
    assert lost[2] == "in the hour 2024-01-01T03:00Z aborted is 0, but its events give 3"
    del rows[FIRST + 3]
    assert differences([*EVENTS, late], rows.values(), made_ms=END_MS - 2) == ([], 3)
    assert differences([*EVENTS, late], rows.values())[0][0][2].endswith("it has no row")


def test_aborted_generations_whose_events_are_deleted_already_are_not_judged():
    rows = rows_of(EVENTS)
    kept = [each for each in EVENTS if not isinstance(each, AbortedEvent)]
    assert differences(kept, rows.values(), since_ms=END_MS - 1) == ([], 4)
    assert len(differences(kept, rows.values())[0]) == 1


def test_a_wrong_time_neither_ends_nor_delays_the_check():
    """Nor does it count as correct: impossible hours are named with their value."""
    far = generation(2**62, 1, PEOPLE, stall=(1e300, 1e3))
    found, _ = differences([far], [])
    assert len(found) == STALL_HOURS_MAX + 1
    assert found[0][2] == f"in the hour {2**62 // HOUR_MS} of the epoch it has no row"


def test_uncompared_columns_are_listed():
    """A new column must be compared, or be listed here."""
    assert set(GROUP_HOURS.schema.names) - set(HOUR_COLUMNS) == {"cluster_id", "group", "hour", "day", "skew_max"}
