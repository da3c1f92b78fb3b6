"""Replays the retained records of one ``__consumer_offsets`` partition through a tracker. Pure.

Compaction has removed records, so a missing generation may have been completed or aborted: no aborted events are
returned. The topic contains neither the start of classic rebalances nor members' reports.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple

from rebalance_agent.errors import DecodeError
from rebalance_agent.groupprotocol.group_fact import GROUP_FACT_KINDS, group_fact
from rebalance_agent.groupprotocol.records import decode_record, record_kind
from rebalance_agent.model.events import AbortedEvent, Event
from rebalance_agent.tracking.observations import Backfilled, EpochRecord, GroupRecord, Tick, TopicsSeen
from rebalance_agent.tracking.observed_record import observed_record
from rebalance_agent.tracking.tracker import Tracker

__all__ = ["LogFacts", "PastRecord", "UnreadableRecord", "replay_log"]

_AFTERWARDS_MS = 3_600_000
"""Time (ms) that passes after the last record: longer than any wait for a follow-up, a name or a report."""

TICK_MS = 10_000
"""Record time (ms) between two ticks, so that due work does not pile up. It does not affect the events."""


class PastRecord(NamedTuple):
    """One record of the offsets topic; ``timestamp_ms`` is the coordinator's clock, a ``value`` of None a tombstone."""

    partition: int
    offset: int
    timestamp_ms: int
    key: bytes
    value: bytes | None


class UnreadableRecord(NamedTuple):
    """A record that could not be decoded, and the error text."""

    record: PastRecord
    problem: str


@dataclass(frozen=True, slots=True)
class LogFacts:
    """Facts that the records lack: the cluster id, the current partition count of each topic, and topic ids by name."""

    cluster_id: str
    topics: Mapping[str, int] = field(default_factory=dict)
    ids: Mapping[str, str] = field(default_factory=dict)


def replay_log(
    records: Iterable[PastRecord], facts: LogFacts, shows: Callable[[str], bool] = lambda _group: True
) -> Iterator[Event | UnreadableRecord]:
    """Yield the events of the selected groups from one partition's records, and records that cannot be decoded.

    ``records`` are in offset order; ``shows`` selects groups by name. Generation events have the same ``event_id`` as
    those of a live observer.
    """
    tracker = Tracker(facts.cluster_id, settle_ms=0)
    now_ms: int | None = None
    ticked_ms = 0
    for record in records:
        observation: GroupRecord | EpochRecord | None = None
        try:
            observation = _observed(record, max(now_ms or 0, record.timestamp_ms))
        except DecodeError as error:
            yield UnreadableRecord(record, str(error))
        if observation is None or not shows(observation.group):
            continue
        if now_ms is None:
            now_ms = ticked_ms = record.timestamp_ms
            tracker.observe(TopicsSeen(now_ms, facts.topics, facts.ids))
            tracker.observe(Backfilled(now_ms, frozenset((record.partition,))))
        now_ms = observation.seen_ms
        if now_ms - ticked_ms >= TICK_MS:
            ticked_ms = now_ms
            yield from _certain(_pass_time(tracker, now_ms))
        yield from _certain(tracker.observe(observation))
    if now_ms is not None:
        yield from _certain(_pass_time(tracker, now_ms + _AFTERWARDS_MS))


def _observed(record: PastRecord, seen_ms: int) -> GroupRecord | EpochRecord | None:
    """Decode a record; return None if it does not describe a group or has an unknown version."""
    if record_kind(record.key) not in GROUP_FACT_KINDS:
        return None
    fact = group_fact(decode_record(record.key, record.value))
    if fact is None:
        return None
    return observed_record(fact, record.timestamp_ms, seen_ms, record.partition, record.offset)


def _pass_time(tracker: Tracker, now_ms: int) -> Iterator[Event]:
    yield from tracker.observe(Tick(now_ms))
    while tracker.behind:
        yield from tracker.observe(Tick(now_ms))


def _certain(events: Iterable[Event]) -> Iterator[Event]:
    return (event for event in events if not isinstance(event, AbortedEvent))
