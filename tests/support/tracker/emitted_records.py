"""The half of an observer that reads the offsets topic, without a broker: records go in, observations come out."""

from __future__ import annotations

from dataclasses import replace

from bench.synthetic import group_key

from rebalance_agent.offsets_topic.emit import ObservationEmitter
from rebalance_agent.offsets_topic.group_records import GroupRecords
from rebalance_agent.tracking.observations import EpochRecord, GroupRecord
from support.observer.fakes import FakeRecord, fake_context
from support.observer.posted import posted

__all__ = ["RecordReader", "epoch_record"]


class RecordReader:
    """Reads records of partition 0 as a tail does; ``topic_sizes``: topic -> number of partitions."""

    def __init__(self, **topic_sizes):
        self.context = fake_context()
        records = GroupRecords(self.context)
        records.topic_sizes = topic_sizes
        self.emitter = ObservationEmitter(self.context, records, None)
        self.offset = 0
        self.emitter.begin()
        self.emitter.gaps.begin({0: 0})

    def emit(self, *records):
        """Read ``records``: group (classic) or key (others), each with its value."""
        messages = [
            FakeRecord(
                group if isinstance(group, bytes) else group_key(group),
                value,
                None,
                self.context.clock.now_ms(),
                (0, self.offset + index),
            )
            for index, (group, value) in enumerate(records)
        ]
        self.offset += len(messages)
        self.emitter.share.release()
        self.emitter.emit_live(messages, messages, {0: self.offset})

    def read(self, *records):
        """Read ``records`` as `emit` does; return the records that were emitted."""
        self.emit(*records)
        return self.taken()

    def taken(self):
        """The records of groups that were emitted; they are processed at once."""
        taken = self.context.inbox.take(10_000, 0)
        assert self.context.inbox.take(1, 0) == []
        return [each for each in taken if isinstance(each, GroupRecord | EpochRecord)]

    def run(self, seconds, *records, step_ms=100):
        """Read ``records`` again and again for this time; return the records that were emitted."""
        found = []
        for _ in range(seconds * 1_000 // step_ms):
            self.context.clock.advance(step_ms)
            found += self.read(*records)
        return found


def epoch_record(observation, group="hostile"):
    """The key and the value of a record of a consumer group."""
    record = posted(replace(observation, group=group), 0)
    return record.key, record.value
