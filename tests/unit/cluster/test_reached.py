"""The position up to which the tail has observed everything."""

from __future__ import annotations

import threading
from contextlib import contextmanager

import pytest

from rebalance_agent.errors import ClusterError
from rebalance_agent.offsets_topic import tail as offsets_topic
from rebalance_agent.offsets_topic.tail import REACHED_EVERY_S, OffsetsTail
from rebalance_agent.tracking.observations import TailReached
from support.observer.fakes import FakeRecord, fake_context

PATIENCE_S = 10


class Reader:
    """A reader of two partitions that returns the given batches in order, until the test makes it fail."""

    def __init__(self):
        self.positions = {}
        self.batches = []
        self.error = None
        self._pause = threading.Event()

    def partitions(self):
        if self.error:
            raise self.error
        return 2

    def begin(self, offsets):
        self.positions |= offsets

    def end(self, partitions):
        assert not partitions

    def read(self, _most, _timeout):
        self._pause.wait(0.01)
        if self.error:
            raise self.error
        batch = self.batches.pop(0) if self.batches else []
        for record in batch:
            self.positions[record.partition()] = record.offset() + 1
        return batch


class Cluster:
    """An empty offsets topic."""

    def end_offsets(self, _topic, partitions):
        return dict.fromkeys(partitions, 0)


@pytest.fixture
def reader(monkeypatch):
    made = Reader()

    @contextmanager
    def open_it(*_):
        yield made

    monkeypatch.setattr(offsets_topic, "TopicReader", open_it)
    return made


def wait(condition):
    pause = threading.Event()
    for _ in range(PATIENCE_S * 100):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError("waited in vain")


@pytest.fixture
def running(reader):
    context = fake_context(Cluster())
    tail = OffsetsTail(context, lambda _reason: None)
    assert tail.reached == {}
    tail.worker.start()
    wait(lambda: tail.reached == {0: 0, 1: 0})
    yield context, tail
    tail.worker.stop()
    tail.worker.join(PATIENCE_S)


def test_the_reached_position_is_reported_every_second_after_the_records(running, reader):
    context, tail = running
    reader.batches.append([FakeRecord(b"\x00\x01", at=(1, 6))])
    wait(lambda: not reader.batches)
    assert tail.reached == {0: 0, 1: 0}
    context.clock.advance(round(REACHED_EVERY_S * 1000))
    wait(lambda: tail.reached == {0: 0, 1: 7})
    reported = [each.positions for each in context.inbox.take(99, 0) if isinstance(each, TailReached)]
    assert reported == [{0: 0, 1: 0}, {0: 0, 1: 7}]


def test_a_restarted_tail_has_no_reached_position(running, reader):
    context, tail = running
    reader.error = ClusterError("cut")
    context.health.wait_for(lambda calls: calls.of("unready"))
    assert tail.reached == {}
