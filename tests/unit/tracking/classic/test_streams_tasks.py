"""The balance of classic Kafka Streams groups is measured by the tasks in their leader's assignments."""

from __future__ import annotations

import base64
import json
import struct
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.groupprotocol.classic_group import classic_group
from rebalance_agent.groupprotocol.records import decode_record
from rebalance_agent.model.partitions import topic_partitions
from rebalance_agent.tracking.classic.streams_tasks import classic_tasks
from rebalance_agent.tracking.observations import GroupRecord
from rebalance_agent.tracking.tracker import Tracker
from support.tracker.tracking import T0, WHOLE, closing, feed, member, record, tick, topics

GOLDEN = json.loads((Path(__file__).parents[3] / "golden" / "streams_user_data.json").read_text(encoding="utf-8"))

WIDE = {"0": tuple(f"in-{number}" for number in range(8)), "1": ("other",)}
"""Eight co-partitioned topics in one subtopology, one topic in another."""

SIZES = dict.fromkeys([*WIDE["0"], "other"], 4)
TASKS = [(key, number) for key in WIDE for number in range(4)]


def user_data(active, standbys=()):
    """An assignment of version 11 (see the golden bytes) up to the standby tasks."""
    numbers = [11, 11, len(active)]
    for key, number in active:
        numbers += [int(key), number, 0]
    numbers.append(len(standbys))
    for key, number in standbys:
        numbers += [int(key), number, 0, 0]
    return struct.pack(f">{len(numbers)}i", *numbers)


def thread(name, tasks=(), standbys=(), sources=WIDE):
    """A member with these tasks: ((subtopology, number), ...)."""
    pairs = {(topic, number): (key, number) for key, number in tasks for topic in sources[key]}
    assigned = topic_partitions(pairs)
    parallel = [pairs[topic, number] for topic, numbers in assigned.items() for number in numbers]
    subscribed = [topic for each in sources.values() for topic in each]
    return with_data(member(name, assigned, topics=subscribed), user_data(parallel, standbys))


def with_data(each, data):
    return replace(each, assignment=replace(each.assignment, user_data=data))


def streams(at, generation, *members):
    return record(at, generation, *members, protocol="stream")


def judged(*members):
    tracker = Tracker("cluster", settle_ms=1_000)
    events = feed(tracker, topics(0, **SIZES), WHOLE, streams(10, 1, *members), tick(60_000))
    event, view = closing(events)[-1], tracker.view("g")
    assert (event.skew_ratio, event.imbalance) == (view.skew_ratio, view.imbalance)
    return view


@pytest.mark.parametrize(
    ("members", "tasks", "skew", "imbalance", "idle"),
    [
        (8, [TASKS[place : place + 1] for place in range(8)], 1.0, 0, 0),
        (4, [TASKS[:3], TASKS[3:5], TASKS[5:7], TASKS[7:]], 1.5, 1, 0),
        (9, [TASKS[place : place + 1] for place in range(8)], 1.0, 0, 1),
        (9, [TASKS[:2], *(TASKS[place : place + 1] for place in range(2, 8))], 2.0, 1, 2),
    ],
    ids=["a task each", "three of two", "more threads than tasks", "two on one, none on two"],
)
def test_skew_imbalance_and_idle_members_count_tasks(members, tasks, skew, imbalance, idle):
    given = [*tasks, *[()] * (members - len(tasks))]
    view = judged(*(thread(f"m{place}", each) for place, each in enumerate(given)))
    assert (view.skew_ratio, view.imbalance, view.idle_members) == (skew, imbalance, idle)
    assert (view.partitions, view.unassigned) == (36, 0)


def test_the_record_of_an_application_with_standbys_is_read():
    group = classic_group(decode_record(*(base64.b64decode(GOLDEN["group"][part]) for part in ("key", "value"))))
    tracker = Tracker("cluster", settle_ms=1_000)
    took = GroupRecord("words", T0 + 10, T0 + 10, group)
    feed(tracker, topics(0, Orders=2, clicks=2, users=2, out=1), WHOLE, took, tick(60_000))
    view = tracker.view("words")
    assert (len(view.members), view.partitions, view.unassigned) == (6, 6, 0)
    assert (view.skew_ratio, view.imbalance) == (1, 0), "four tasks of six threads"
    assert view.idle_members == 0, "two threads have only a standby task"


def test_a_thread_with_standby_tasks_only_is_not_idle():
    assert judged(thread("a", TASKS), thread("b", standbys=TASKS[:1]), thread("c")).idle_members == 1


BROKEN = {
    "no user data": None,
    "a newer version": b"\0\0\0\x0c" + user_data([("1", 0)])[4:],
    "a task too few": user_data([]),
    "a task of another partition": user_data([("1", 1)]),
}


@pytest.mark.parametrize("data", BROKEN.values(), ids=BROKEN)
def test_without_known_tasks_partitions_count(data):
    whole = [thread(f"m{place}", [task]) for place, task in enumerate(TASKS)]
    assert (judged(*whole).skew_ratio, judged(*whole).idle_members) == (1, 0)
    odd = with_data(whole[4], data)
    view = judged(odd, *whole[:4], *whole[5:])
    assert (view.skew_ratio, view.imbalance, view.idle_members) == (1.6, 3, None)


def test_a_topic_in_two_subtopologies_is_not_from_kafka_streams():
    one = with_data(member("a", {"t": (0, 1)}), user_data([("0", 0), ("1", 1)]))
    assert classic_tasks(streams(10, 1, one).value, None) == ({}, None)
    apart = [
        with_data(member(name, {name: (0,), "t": (number,)}), user_data([(name, 0), (key, number)]))
        for name, key, number in (("8", "0", 0), ("9", "1", 1))
    ]
    assert classic_tasks(streams(10, 1, *apart).value, None) == ({}, None)


def test_tasks_awaiting_revocation_by_their_owner_count():
    sources = {"0": ("t", "u"), "1": ("v",)}
    first = thread("a", [("0", 0), ("0", 1), ("1", 0)], sources=sources)
    second = [thread("a", [("0", 0), ("0", 1)], sources=sources), thread("b", sources=sources)]
    tracker = Tracker("cluster", settle_ms=1_000)
    feed(tracker, topics(0, t=2, u=2, v=1), WHOLE, streams(10, 1, first), tick(9_000))
    feed(tracker, streams(10_000, 2, *second))
    view = tracker.view("g")
    assert (view.unassigned, view.skew_ratio, view.imbalance) == (1, 1, 0), "two of three tasks, of two threads"


def test_a_group_of_other_consumers_has_no_tasks():
    value = record(10, 1, thread("a", TASKS), protocol="range").value
    assert classic_tasks(value, None) == ({}, frozenset())


@given(data=st.data())
def test_the_topics_of_each_subtopology_are_found(data):
    names = st.lists(st.text("aZ_-.", min_size=1, max_size=4), min_size=1, max_size=6, unique=True)
    by_topic = {topic: str(data.draw(st.integers(0, 3))) for topic in data.draw(names)}
    sources = {key: tuple(sorted(t for t, other in by_topic.items() if other == key)) for key in by_topic.values()}
    owners = {(key, number): data.draw(st.integers(0, 3)) for key in sources for number in range(3)}
    members = [
        thread(f"m{place}", [task for task, owner in owners.items() if owner == place], sources=sources)
        for place in range(4)
    ]
    assert classic_tasks(streams(10, 1, *members).value, None) == (sources, frozenset())
