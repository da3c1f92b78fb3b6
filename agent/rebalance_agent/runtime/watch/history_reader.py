"""Reads one group's past without a running agent: from its published events, or from the offsets topic's records."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import NamedTuple

from rebalance_agent.clock import Clock
from rebalance_agent.cluster.access import Existence
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.cluster.read_to_end import present_records
from rebalance_agent.cluster.topic_reader import TopicRecord
from rebalance_agent.errors import AccessDeniedError, InvalidInputError
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC, offsets_partition
from rebalance_agent.model.event_json import event_from_json, json_object
from rebalance_agent.model.events import Event, GenerationEvent
from rebalance_agent.offsets_topic.backfill_reader import BACKFILL_TUNING
from rebalance_agent.runtime.sinks.split_events import whole_events
from rebalance_agent.tracking.log_replay import LogFacts, PastRecord, UnreadableRecord, replay_log

__all__ = ["GroupPast", "read_past"]


class GroupPast(NamedTuple):
    """A group's ``events`` in order; ``source``: where the events are from; ``known``: whether the group was found."""

    events: tuple[Event, ...]
    source: str
    known: bool


def read_past(properties: Mapping[str, str], events_topic: str, group: str, clock: Clock) -> GroupPast:
    """Return the group's rebalances from ``events_topic`` if that topic has any, else from the offsets topic.

    Raises:
        ClusterError: no broker answers, or a permission is missing.
    """
    cluster = Cluster(properties)
    cluster_id, counts = cluster.identify()

    def records(topic: str, partitions: Collection[int]) -> Iterator[TopicRecord]:
        return present_records(properties, cluster, topic, partitions, BACKFILL_TUNING, clock)

    if counts.get(events_topic):
        published = records(events_topic, range(counts[events_topic]))
        events = tuple(whole_events(_published(published, f"{cluster_id}:{group}")))
        if any(isinstance(event, GenerationEvent) for event in events):
            return GroupPast(events, f"the topic {events_topic}", known=True)
    if not counts.get(OFFSETS_TOPIC):
        if cluster.access.topics([OFFSETS_TOPIC])[OFFSETS_TOPIC].existence is Existence.HIDDEN:
            raise AccessDeniedError(f"{OFFSETS_TOPIC} is hidden: this login is not allowed to describe the topic")
        return GroupPast((), f"{OFFSETS_TOPIC}, which does not exist", known=False)
    facts = LogFacts(cluster_id, counts, cluster.topic_ids(counts))
    return _replayed(records(OFFSETS_TOPIC, [offsets_partition(group, counts[OFFSETS_TOPIC])]), facts, group)


def _published(records: Iterable[TopicRecord], key: str) -> Iterator[Event]:
    """Yield the events with ``key``; records that are not events of this release or an older one are skipped."""
    encoded = key.encode("utf-8", "backslashreplace")
    for message in records:
        if message.key() == encoded:
            try:
                yield event_from_json(json_object(message.value() or b""))
            except InvalidInputError:
                continue


def _replayed(records: Iterable[TopicRecord], facts: LogFacts, group: str) -> GroupPast:
    """Return the events from a replay of the offsets topic's records; records that compaction removed are missing."""
    known = False

    def is_it(name: str) -> bool:
        nonlocal known
        known = known or name == group
        return name == group

    replayed = replay_log(map(_past_record, records), facts, is_it)
    events = tuple(event for event in replayed if not isinstance(event, UnreadableRecord))
    source = (
        f"the remaining records of {OFFSETS_TOPIC}.\nOlder records were compacted away, and the topic has neither "
        "the starts of classic rebalances nor members' reports"
    )
    return GroupPast(events, source, known)


def _past_record(message: TopicRecord) -> PastRecord:
    _, timestamp_ms = message.timestamp()
    return PastRecord(message.partition(), message.offset(), timestamp_ms, message.key() or b"", message.value())
