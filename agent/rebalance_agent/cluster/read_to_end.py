"""Reads a topic from its beginning or from given offsets, up to given end offsets or without an end."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping

from rebalance_agent.clock import Clock
from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.cluster.topic_reader import BEGINNING, TopicReader, TopicRecord
from rebalance_agent.errors import ClusterError

__all__ = ["SILENCE_MAX_S", "endless_records", "present_records", "records_before"]

BATCH_MAX = 5_000
"""Maximum number of records per read."""

WAIT_S = 0.1
"""Seconds that one read waits for a record."""


SILENCE_MAX_S = 30.0
"""Seconds without progress after which reading fails: a broker with records sends them sooner."""


def present_records(
    properties: Mapping[str, str],
    cluster: Cluster,
    topic: str,
    partitions: Collection[int],
    tuning: Mapping[str, str],
    clock: Clock,
) -> Iterator[TopicRecord]:
    """Yield every record of these partitions up to their current end offsets, in order within each partition.

    Raises: ClusterError: see `records_before`.
    """
    ends = cluster.end_offsets(topic, partitions)
    with TopicReader(properties, topic, tuning) as reader:
        for batch in records_before(ends, reader, clock):
            yield from batch


def records_before(
    ends: Mapping[int, int], reader: TopicReader, clock: Clock, starts: Mapping[int, int] | None = None
) -> Iterator[list[TopicRecord]]:
    """Yield every record before ``ends`` (partition -> offset), in order within each partition; batches may be empty.

    ``starts``: partition -> the first offset to read, or `BEGINNING`, which is the default.

    The end is detected by position, since the last offset may have been compacted or be a transaction's marker.

    Raises:
        ClusterError: the topic cannot be read, or there is no progress for `SILENCE_MAX_S`.
    """
    starts = starts or {}
    begin = {partition: starts.get(partition, BEGINNING) for partition in ends}
    remaining = {partition for partition, end in ends.items() if end > max(begin[partition], 0)}
    reader.begin({partition: begin[partition] for partition in remaining})
    progress_at = clock.monotonic()
    while remaining:
        before = dict(reader.positions)
        yield [record for record in reader.read(BATCH_MAX, WAIT_S) if record.offset() < ends[record.partition()]]
        remaining = {partition for partition in remaining if reader.positions[partition] < ends[partition]}
        if reader.positions != before:
            progress_at = clock.monotonic()
        elif clock.monotonic() - progress_at > SILENCE_MAX_S:
            raise ClusterError(f"reading {reader.topic}: no record arrived for {SILENCE_MAX_S:.0f} s")


def endless_records(starts: Mapping[int, int], reader: TopicReader) -> Iterator[list[TopicRecord]]:
    """Yield all records from ``starts`` (partition -> offset, or `BEGINNING`) without an end; batches may be empty.

    Raises:
        ClusterError: the topic cannot be read.
    """
    reader.begin(starts)
    while True:
        yield reader.read(BATCH_MAX, WAIT_S)
