from __future__ import annotations

from typing import ClassVar

from rebalance_agent.cluster import topic_reader
from rebalance_agent.offsets_topic import backfill_reader as old_records
from rebalance_agent.offsets_topic.backfill_reader import BackfillReader
from rebalance_agent.offsets_topic.group_records import GroupRecords
from rebalance_agent.offsets_topic.progress import STUCK_S
from support.observer.fakes import fake_context


class Reader(topic_reader.TopicReader):
    """A real client without a broker; ``read_to``: the position after each read."""

    read_to = ()
    reopened: ClassVar[list] = []

    def __init__(self, _properties, topic, tuning):
        super().__init__({"bootstrap.servers": "127.0.0.1:1", "log_level": "0"}, topic, tuning)
        self._left = list(self.read_to)
        self._known = False

    def partitions(self):
        self._known = True
        return 2

    def begin(self, offsets):
        assert self._known, "otherwise librdkafka would request the topic half a second later"
        super().begin(offsets)

    def read(self, _most, _timeout):
        self.positions |= self._left.pop(0) if self._left else {}
        return []

    def reopen(self, stuck):
        self.reopened.append(stuck)


def test_a_complete_partition_can_be_read_again_while_others_are_incomplete(monkeypatch):
    monkeypatch.setattr(old_records, "TopicReader", Reader)
    monkeypatch.setattr(Reader, "read_to", ({0: 5}, {1: 2}, {0: 8, 1: 9}))
    context = fake_context()
    old = BackfillReader(context, "topic", GroupRecords(context))
    old.expect({0: 5, 1: 9})
    assert old.read() == {0: []}
    old.expect({0: 8})
    assert old.read() == {}
    assert old.read() == {0: [], 1: []}
    assert not old.pending


def test_reading_restarts_when_records_are_left_and_none_comes(monkeypatch):
    monkeypatch.setattr(old_records, "TopicReader", Reader)
    monkeypatch.setattr(Reader, "read_to", ({0: 4}, {0: 5}))
    monkeypatch.setattr(Reader, "reopened", [])
    context = fake_context()
    old = BackfillReader(context, "topic", GroupRecords(context))
    old.expect({0: 5, 1: 9})
    old.read()
    context.clock.advance(int(STUCK_S * 1000) - 1)
    assert old.read() == {0: []}
    assert Reader.reopened == []
    context.clock.advance(1)
    old.read()
    assert Reader.reopened == [[1]], "partition 0 is complete"
    old.read()
    assert Reader.reopened == [[1]], "the new client has time too"
