"""Reads a cluster's offsets topic and published events once, from beginning to end, for the audit's ledger."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from rebalance_agent.audit.audited_group import RecordPosition
from rebalance_agent.audit.expected.entries import LogRecord
from rebalance_agent.audit.ledger import Ledger
from rebalance_agent.audit.lifetime_counters import COUNTERS
from rebalance_agent.clock import Clock
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.cluster.read_to_end import present_records
from rebalance_agent.cluster.topic_reader import TopicRecord
from rebalance_agent.errors import ClusterError, InvalidInputError
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC
from rebalance_agent.groupprotocol.group_fact import COMMIT_KEYS_END
from rebalance_agent.metrics.agent_rows import READY, REPLAYED_RECORDS
from rebalance_agent.metrics.export.parsed_text import ParsedSample, parsed_samples
from rebalance_agent.model.event_json import event_from_json, json_object
from rebalance_agent.model.events import Event
from rebalance_agent.offsets_topic.backfill_reader import BACKFILL_TUNING
from rebalance_agent.offsets_topic.ownership import OWNERSHIP_PART
from rebalance_agent.offsets_topic.tail import OFFSETS_PART

__all__ = ["Scrape", "VerifiedCluster", "scraped"]

LAST_POLL = "rebalance_agent_last_poll_timestamp_seconds"


class VerifiedCluster:
    """One cluster to audit. Events are read before records, so that each event's record is read, too.

    ``unread``: number of records in the events topic that cannot be read as events.
    """

    def __init__(self, properties: Mapping[str, str], clock: Clock) -> None:
        """Ask the cluster for its id and its topics.

        Raises:
            ClusterError: no broker answers.
        """
        self._properties = properties
        self._clock = clock
        self._cluster = Cluster(properties)
        self.unread = 0
        self.cluster_id, self._counts = self._cluster.identify()

    def names(self) -> dict[str, str]:
        """Return the current mapping of topic id -> topic name."""
        return {identity: name for name, identity in self._cluster.topic_ids(self._counts).items()}

    def events(self, topic: str, on_event: Callable[[Event, RecordPosition], None]) -> int:
        """Call ``on_event`` for every event of the topic; return the time (epoch ms) after which no event was deleted.

        If retention deleted all records of a partition, that time is now: the groups of the deleted events are unknown.

        Raises:
            ClusterError: the topic does not exist or cannot be read.
        """
        if topic not in self._counts:
            raise ClusterError(f"there is no topic {topic}: set the events' topic with --events-topic, or use --events")
        partitions = range(self._counts[topic])
        cut = {number for number, start in self._cluster.start_offsets(topic, partitions).items() if start > 0}
        since_ms = dict.fromkeys(cut, self._clock.now_ms())
        for message in self._records(topic):
            number = message.partition()
            if number in cut:
                cut.discard(number)
                since_ms[number] = message.timestamp()[1]
            try:
                event = event_from_json(json_object(message.value() or b""))
            except InvalidInputError:
                self.unread += 1  # from a newer release or another program
                continue
            on_event(event, RecordPosition(topic, number, message.offset()))
        return max(since_ms.values(), default=0)

    def post(self, *ledgers: Ledger) -> None:
        """Post every record of the offsets topic to each of ``ledgers``.

        Raises:
            ClusterError: the topic does not exist or cannot be read.
        """
        if OFFSETS_TOPIC not in self._counts:
            raise ClusterError(
                f"this cluster has no {OFFSETS_TOPIC} yet, or this principal is not allowed to describe it"
            )
        for message in self._records(OFFSETS_TOPIC):
            key, partition, offset = message.key() or b"", message.partition(), message.offset()
            timestamp_ms = message.timestamp()[1]
            if key < COMMIT_KEYS_END:  # nearly all of the topic: offset commits
                for ledger in ledgers:
                    ledger.skip(partition, offset, timestamp_ms)
                continue
            record = LogRecord(RecordPosition(OFFSETS_TOPIC, partition, offset), timestamp_ms, key, message.value())
            for ledger in ledgers:
                ledger.add_record(record)

    def _records(self, topic: str) -> Iterator[TopicRecord]:
        partitions = range(self._counts[topic])
        return present_records(self._properties, self._cluster, topic, partitions, BACKFILL_TUNING, self._clock)


@dataclass(frozen=True, slots=True)
class Scrape:
    """An observer's ``/metrics`` at a time (epoch ms): group -> the ledger's name of a counter -> value.

    ``started_from_snapshot``: the observer resumed from a snapshot, or shares the groups with replicas. ``replayed``:
    number of records that the observer read again after a snapshot; None if the observer shares groups, or had not read
    the whole topic.
    """

    counters: Mapping[str, Mapping[str, float]]
    at_ms: int | None
    started_from_snapshot: bool
    replayed: int | None = None


def scraped(text: str) -> Scrape:
    """Parse the text of a scrape.

    Raises:
        InvalidInputError: the text is not in Prometheus' text format, or a number is not finite.
    """
    counters: dict[str, dict[str, float]] = {}
    metrics = {metric: (name, labels) for name, (metric, labels) in COUNTERS.items()}
    finite = {LAST_POLL, REPLAYED_RECORDS.name, *metrics}
    at_ms, replayed, parts = None, 0, dict[str, bool]()
    for sample in _samples(text):
        if sample.name in finite and not math.isfinite(sample.value):
            raise InvalidInputError("", f"has the value {sample.value} for {sample.name}")
        if sample.name == LAST_POLL and sample.labels.get("poll") == "list":
            at_ms = round(sample.value * 1000)
        elif sample.name == REPLAYED_RECORDS.name:
            replayed = round(sample.value)
        elif sample.name == READY.name:
            parts[sample.labels.get("part", "")] = sample.value == 1
        elif sample.name in metrics:
            name, labels = metrics[sample.name]
            if labels.items() <= sample.labels.items():
                group = counters.setdefault(sample.labels.get("consumergroup", ""), {})
                group[name] = group.get(name, 0) + sample.value
                for label in ("trigger", "basis"):
                    if label in sample.labels:
                        group[f"{name} by {sample.labels[label]}"] = sample.value
    shares = OWNERSHIP_PART in parts
    return Scrape(counters, at_ms, replayed > 0 or shares, replayed if parts.get(OFFSETS_PART) and not shares else None)


def _samples(text: str) -> Iterator[ParsedSample]:
    try:
        yield from parsed_samples(text)
    except ValueError as error:
        raise InvalidInputError("", f"is not in the Prometheus text format ({error})") from None
