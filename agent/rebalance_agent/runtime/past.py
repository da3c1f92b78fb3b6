"""One group's past without an agent: its published events, or what the coordinator's own log still holds of it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from rebalance_agent.clock import Clock
from rebalance_agent.collectors.cluster import Cluster
from rebalance_agent.collectors.context import Context
from rebalance_agent.collectors.group_records import GroupRecords
from rebalance_agent.collectors.inbox import Inbox
from rebalance_agent.collectors.names import NameFilter
from rebalance_agent.collectors.offsets_topic import OFFSETS_TOPIC
from rebalance_agent.collectors.old_records import BACKFILL_TUNING
from rebalance_agent.collectors.to_the_end import records_before
from rebalance_agent.collectors.topic_reader import TopicReader, TopicRecord
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.exposition.agent_metrics import AgentMetrics
from rebalance_agent.exposition.health import Readiness
from rebalance_agent.groupprotocol.placement import offsets_partition
from rebalance_agent.metrics.metric import Role
from rebalance_agent.model.codec import event_from_json, json_object
from rebalance_agent.model.events import AbortedEvent, Event, GenerationEvent
from rebalance_agent.rebalances.observations import Backfilled, EpochRecord, GroupRecord, Tick, TopicsSeen
from rebalance_agent.rebalances.retelling import AFTERWARDS_MS
from rebalance_agent.rebalances.tracker import Tracker
from rebalance_agent.runtime.splitting import whole_events

__all__ = ["Past", "read_past"]


class Past(NamedTuple):
    """``events`` in order; ``source`` in words for a person; ``known``: the group was seen at all."""

    events: tuple[Event, ...]
    source: str
    known: bool


def read_past(properties: Mapping[str, str], events_topic: str, group: str, clock: Clock) -> Past:
    """What can be had of the group's rebalances: from ``events_topic`` where it holds some, else from the records.

    Raises:
        ClusterError: no broker answers, or a right is missing.
    """
    cluster = Cluster(properties)
    cluster_id, counts = cluster.identify()
    if counts.get(events_topic):
        events = tuple(
            whole_events(_published(properties, cluster, events_topic, counts, f"{cluster_id}:{group}", clock))
        )
        if any(isinstance(event, GenerationEvent) for event in events):
            return Past(events, f"the topic {events_topic}", known=True)
    if not counts.get(OFFSETS_TOPIC):
        return Past((), f"{OFFSETS_TOPIC}, which is not there", known=False)
    return _replayed(properties, cluster, cluster_id, counts, group, clock)


def _published(
    properties: Mapping[str, str], cluster: Cluster, topic: str, counts: Mapping[str, int], key: str, clock: Clock
) -> Iterator[Event]:
    """The events under ``key``; what is no event of this or an older release is passed over."""
    wanted = key.encode("utf-8", "backslashreplace")
    for message in _records(properties, cluster, topic, range(counts[topic]), clock):
        if message.key() == wanted:
            try:
                yield event_from_json(json_object(message.value() or b""))
            except InvalidInputError:
                continue


def _replayed(
    properties: Mapping[str, str],
    cluster: Cluster,
    cluster_id: str,
    counts: Mapping[str, int],
    group: str,
    clock: Clock,
) -> Past:
    """Tell a tracker again what the topic still holds: compaction has taken what is older than its last segment."""
    readiness = Readiness()
    meters = AgentMetrics(Role.OBSERVER, readiness, configured=True)
    shows = NameFilter(re.escape(group))
    records = GroupRecords(Context(properties, cluster, Inbox(), readiness, meters, clock, shows))
    partition = offsets_partition(group, counts[OFFSETS_TOPIC])
    tracker = Tracker(cluster_id, settle_ms=0)
    events: list[Event] = []
    at_ms: int | None = None
    for message in _records(properties, cluster, OFFSETS_TOPIC, [partition], clock):
        for found, _ in records.of_groups([message]):
            record = records.decode(found, live=True)
            if not isinstance(record, GroupRecord | EpochRecord):
                continue
            if at_ms is None:
                tracker.observe(TopicsSeen(record.timestamp_ms, counts, cluster.topic_ids(counts)))
                tracker.observe(Backfilled(record.timestamp_ms, frozenset([partition])))
            at_ms = max(at_ms or 0, record.timestamp_ms)
            events += tracker.observe(replace(record, seen_ms=at_ms))
    if at_ms is not None:
        events += tracker.observe(Tick(at_ms + AFTERWARDS_MS))
    # A generation that is missing here may have been compacted away as well as aborted.
    certain = tuple(event for event in events if not isinstance(event, AbortedEvent))
    source = (
        f"what {OFFSETS_TOPIC} still holds.\nOlder records are compacted away; when a classic group's rebalance began, "
        "and what members report, is not in it"
    )
    return Past(certain, source, known=at_ms is not None)


def _records(
    properties: Mapping[str, str], cluster: Cluster, topic: str, partitions: range | list[int], clock: Clock
) -> Iterator[TopicRecord]:
    """Every record of these partitions up to their ends of now, in order within each."""
    ends = cluster.end_offsets(topic, partitions)
    with TopicReader(properties, topic, BACKFILL_TUNING) as reader:
        for batch in records_before(ends, reader, clock):
            yield from batch
