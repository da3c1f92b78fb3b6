"""A short notation for a tracker's observations of a group. Times are milliseconds since `T0`."""

from __future__ import annotations

import zlib
from dataclasses import replace

from rebalance_agent.groupprotocol.commit_key import commit_key
from rebalance_agent.model.events import Callback, GenerationEvent, MemberEvent
from rebalance_agent.model.group import GroupSnapshot, GroupState, GroupType, Member
from rebalance_agent.model.group_event import process_event_id
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from rebalance_agent.tracking.observations import (
    Backfilled,
    CommitsSeen,
    EpochRecord,
    GroupRecord,
    GroupsListed,
    ListedGroup,
    MemberReported,
    Tick,
    TopicsSeen,
)
from rebalance_agent.tracking.tracker import REBALANCING, Tracker

T0 = 1_700_000_000_000
SESSION_MS = 15_000
REBALANCE_MS = 30_000
SILENT_MS = SESSION_MS + REBALANCE_MS
"""Maximum stall in ms of a member that is removed."""
WHOLE = Backfilled(T0, frozenset({0}))
"""The observation that all records of the groups were read."""


def member(name, assigned=(), *, owned=(), topics=("t",), instance=None, user_data=None, client=None, topic="t"):
    """A member ``name`` with partitions of ``topic``; its id is independent of its instance id."""
    return Member(
        member_id=name,
        instance_id=instance,
        client_id=client or f"client-{name}",
        client_host=f"/10.0.0.{len(name)}",
        rebalance_timeout_ms=REBALANCE_MS,
        session_timeout_ms=SESSION_MS,
        subscription=ConsumerSubscription(3, tuple(topics), user_data, _partitions(owned, topic)),
        assignment=ConsumerAssignment(3, _partitions(assigned, topic)),
    )


def _partitions(given, topic):
    return dict(given) if isinstance(given, dict) else ({topic: tuple(given)} if given else {})


def record(at, generation, *members, joined=None, protocol="range", group="g", live=True, kind="consumer", delay=0):
    """A GroupMetadata record; ``joined``: end of its join phase (default: the record's time)."""
    value = GroupSnapshot(
        group=group,
        protocol_type=kind,
        generation=generation,
        protocol=protocol if members else None,
        leader=members[0].member_id if members else None,
        current_state_timestamp_ms=T0 + (at if joined is None else joined),
        members=members,
        size_bytes=100,
    )
    return GroupRecord(group, T0 + at, T0 + at + delay, value, live)


def tombstone(at, group="g"):
    """The record of a deleted group."""
    return GroupRecord(group, T0 + at, T0 + at, None)


def listed(at, *groups, state=GroupState.PREPARING_REBALANCE, states=REBALANCING, complete=True):
    """A poll, requested and answered at ``at``, with these groups in ``state``."""
    shown = tuple(ListedGroup(group, state, GroupType.CLASSIC) for group in groups)
    return GroupsListed(T0 + at, T0 + at, frozenset(states), shown, complete)


def away(since, until):
    """Polls: brokers did not answer from just after ``since`` to just before ``until``."""
    return [listed(since), *(listed(at, complete=False) for at in range(since + 250, until, 250)), listed(until)]


def topics(at, **counts):
    """The cluster's topics."""
    return TopicsSeen(T0 + at, counts)


def tick(at):
    """A tick at this time."""
    return Tick(T0 + at)


def said(
    callback, name, started, returned, generation, partitions=(), *, received=None, group="g", topic="t", seq=None
):
    """A member's report; it arrives at the end of the callback, unless ``received`` is given."""
    sequence = seq if seq is not None else zlib.crc32(repr((callback, name, started, returned, generation)).encode())
    process = f"process-{name}"
    event = MemberEvent(
        event_id=process_event_id("member", process, sequence),
        group=group,
        timestamp_ms=T0 + returned,
        callback=callback,
        client_id=f"client-{name}",
        member_id=name,
        generation=generation,
        started_ms=T0 + started,
        partitions=_partitions(partitions, topic),
        process=process,
        sequence=sequence,
    )
    return MemberReported(T0 + (returned if received is None else received), event)


def revoked(name, started, returned, generation, partitions, **more):
    """A revoked callback of a member."""
    return said(Callback.REVOKED, name, started, returned, generation, partitions, **more)


def assigned(name, started, returned, generation, partitions, **more):
    """An assigned callback of a member."""
    return said(Callback.ASSIGNED, name, started, returned, generation, partitions, **more)


def left(name, at, generation, **more):
    """A member's clean leave."""
    return said(Callback.LEFT, name, at, at, generation, **more)


TWO_EAGER = (
    topics(0, t=4),
    listed(500),
    record(1_000, 0),
    record(4_000, 1, member("a", (0, 1)), member("b", (2, 3)), joined=3_990),
)
"""Records of a group of two eager members, which is complete at 4 s."""

B_GONE = (
    listed(80_000),
    listed(80_200, "g"),
    listed(82_990, "g"),
    record(83_000, 2, member("a", (0, 1, 2, 3)), joined=82_990),
)
"""Observations after b's departure: polls show the rebalance from 80.2 s on, and a has all partitions at 83 s."""


def feed(tracker, *observations, commits=True):
    """Return all events of these observations; a tick is repeated until no due work is left.

    With ``commits``, members commit their partitions in the millisecond of the assigning record, because they consume
    at once.
    """
    return [event for observation in observations for event in _events(tracker, observation, commits=commits)]


def _events(tracker, observation, *, commits):
    yield from tracker.observe(observation)
    while isinstance(observation, Tick) and tracker.behind:
        yield from tracker.observe(observation)
    if commits and isinstance(observation, GroupRecord | EpochRecord):
        at_ms = observation.timestamp_ms
        group = observation.group
        commit_times = tracker._context.commits
        keys = list(commit_times._keys.get(group.encode(), ()))
        yield from tracker.observe(CommitsSeen(observation.seen_ms, dict.fromkeys(keys, (at_ms, at_ms - T0))))


def watch(*observations, commits=True, **settings):
    """Return a tracker that took these observations (see `feed`), and its events."""
    tracker = Tracker("cluster", **settings)
    return tracker, feed(tracker, *observations, commits=commits)


def committed(at, *numbers, seen=None, group="g", topic="t", offset=None):
    """Commits of these partitions, read at once, with an offset that increases with time by default."""
    commit = (T0 + at, at if offset is None else offset)
    keys = (commit_key(group, topic, number) for number in numbers)
    return CommitsSeen(T0 + (at if seen is None else seen), dict.fromkeys(keys, commit))


def in_time(*observations):
    """The same observations in the order in which an observer gets them."""
    return sorted(observations, key=_seen)


def _seen(observation):
    for name in ("seen_ms", "answered_ms", "at_ms"):
        if hasattr(observation, name):
            return getattr(observation, name)
    raise TypeError(observation)


def written_by(leader_epoch, *observations):
    """The same observations; their records have this leader epoch."""
    return [
        replace(observation, leader_epoch=leader_epoch) if hasattr(observation, "leader_epoch") else observation
        for observation in observations
    ]


def closing(events):
    """The events that close an episode, in order."""
    return [event for event in events if isinstance(event, GenerationEvent) and event.closes_episode]


def triggers(events):
    """Triggers of the episodes, in order."""
    return [event.trigger for event in closing(events)]
