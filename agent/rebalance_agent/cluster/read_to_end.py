"""A topic as it is now: all that its partitions hold up to their ends of one moment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rebalance_agent.clock import Clock
from rebalance_agent.cluster.topic_reader import BEGINNING, TopicReader, TopicRecord
from rebalance_agent.errors import ClusterError

__all__ = ["SILENCE_MAX_S", "records_before"]

BATCH_MAX = 5_000
WAIT_S = 0.1

SILENCE_MAX_S = 30.0
"""A broker that has records and sends none for so long will not send them."""


def records_before(ends: Mapping[int, int], reader: TopicReader, clock: Clock) -> Iterator[list[TopicRecord]]:
    """Every record before ``ends`` (by partition), in order within each partition; some batches are empty.

    By position, not by the last record: compaction or a transaction's marker may have taken that.

    Raises:
        ClusterError: the topic cannot be read, or no broker goes on sending.
    """
    remaining = {partition for partition, end in ends.items() if end > 0}
    reader.begin(dict.fromkeys(remaining, BEGINNING))
    progress_at = clock.monotonic()
    while remaining:
        before = dict(reader.positions)
        yield [each for each in reader.read(BATCH_MAX, WAIT_S) if each.offset() < ends[each.partition()]]
        remaining = {each for each in remaining if reader.positions[each] < ends[each]}
        if reader.positions != before:
            progress_at = clock.monotonic()
        elif clock.monotonic() - progress_at > SILENCE_MAX_S:
            raise ClusterError(f"reading {reader.topic}: no record came for {SILENCE_MAX_S:.0f} s")
