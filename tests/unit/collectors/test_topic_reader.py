"""A reader's batches, from a client that hands out what a test prepared."""

from __future__ import annotations

import pytest

from rebalance_agent.collectors import topic_reader


class Record:
    """As confluent-kafka's message: its length is that of its value, so that a tombstone counts as false."""

    def __init__(self, offset, value):
        self._offset = offset
        self._value = value

    def __len__(self):
        return len(self._value or b"")

    def error(self):
        return None

    def partition(self):
        return 0

    def offset(self):
        return self._offset

    def value(self):
        return self._value


class Client:
    """In place of a Consumer."""

    def __init__(self, settings):
        self.left = [Record(0, None), Record(1, b"1"), Record(2, None)]

    def poll(self, timeout):
        return self.left.pop(0) if self.left else None

    def consume(self, most, timeout):
        taken, self.left = self.left[:most], self.left[most:]
        return taken


@pytest.mark.parametrize("most", [1, 2, 10])
def test_a_tombstone_that_comes_first_is_read_like_any_other(monkeypatch, most):
    monkeypatch.setattr(topic_reader, "Consumer", Client)
    reader = topic_reader.TopicReader({}, "topic", {})
    found = []
    while batch := reader.read(most, 1.0):
        found += batch
    assert [(each.offset(), each.value()) for each in found] == [(0, None), (1, b"1"), (2, None)]
    assert reader.positions == {0: 3}
