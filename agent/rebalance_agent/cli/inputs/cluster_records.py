"""Records of ``__consumer_offsets``, read from a cluster."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import chain

from rebalance_agent.cli.inputs.cluster_settings import cluster_settings
from rebalance_agent.cli.inputs.raw_records import RawRecord
from rebalance_agent.clock import SystemClock
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.cluster.read_to_end import endless_records, records_before
from rebalance_agent.cluster.topic_reader import BEGINNING, TopicReader, TopicRecord
from rebalance_agent.errors import ClusterError
from rebalance_agent.groupprotocol.coordinator_partition import OFFSETS_TOPIC, offsets_partition
from rebalance_agent.offsets_topic.backfill_reader import BACKFILL_TUNING

__all__ = ["cluster_record_batches", "cluster_records"]


def cluster_records(options: argparse.Namespace) -> Iterator[RawRecord]:
    """Yield the records of the flags' cluster, in order within each partition; see `cluster_record_batches`."""
    return chain.from_iterable(cluster_record_batches(options))


def cluster_record_batches(options: argparse.Namespace) -> Iterator[list[RawRecord]]:
    """Yield the records that each read returned, in order within each partition; with ``follow``, also later records.

    ``group``: read only the partition with the records of this group. ``since`` (epoch ms): begin with the first
    record of this time or later.

    Raises:
        InvalidInputError: a setting is wrong, or no brokers are named.
        ClusterError: no broker answers, or the topic cannot be read.
    """
    _, properties = cluster_settings(options)
    cluster = Cluster(properties)
    count = cluster.identify()[1].get(OFFSETS_TOPIC, 0)
    if not count:
        raise ClusterError(f"{OFFSETS_TOPIC} does not exist, or is hidden from this login")
    partitions = range(count) if options.group is None else [offsets_partition(options.group, count)]
    ends = cluster.end_offsets(OFFSETS_TOPIC, partitions)
    starts = dict.fromkeys(partitions, BEGINNING)
    if options.since is not None:
        starts = ends | cluster.offsets_since(OFFSETS_TOPIC, partitions, options.since)
    with TopicReader(properties, OFFSETS_TOPIC, BACKFILL_TUNING) as reader:
        past = records_before(ends, reader, SystemClock(), starts)
        for batch in endless_records(starts, reader) if options.follow else past:
            yield [_raw(record) for record in batch]


def _raw(record: TopicRecord) -> RawRecord:
    _, timestamp_ms = record.timestamp()
    return RawRecord(record.key() or b"", record.value(), timestamp_ms, record.partition(), record.offset())
