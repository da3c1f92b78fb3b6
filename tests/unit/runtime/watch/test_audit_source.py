"""The time from which a topic of events is complete, as `verify` finds it."""

from __future__ import annotations

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.cluster import read_to_end
from rebalance_agent.offsets_topic.snapshots.codec import StoredRecord
from rebalance_agent.runtime.watch import audit_source as verifying
from rebalance_agent.runtime.watch.audit_source import VerifiedCluster

EVENTS = "rebalance-events"
NOW_MS = 1_800_000_000_000


class Topic:
    """Partitions as (start, offsets); each record is a second younger than the previous one. Returns cluster and
    reader."""

    def __init__(self, *partitions):
        self._partitions = partitions
        self.topic, self.positions = EVENTS, {}

    def identify(self):
        return "cluster", {EVENTS: len(self._partitions)}

    def start_offsets(self, _topic, partitions):
        return {number: self._partitions[number][0] for number in partitions}

    def end_offsets(self, _topic, partitions):
        return {
            number: sum(map(len, self._partitions[number][1:])) + self._partitions[number][0] for number in partitions
        }

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def begin(self, offsets):
        self.positions = dict.fromkeys(offsets, 0)

    def read(self, _most, _timeout):
        self.positions = self.end_offsets(EVENTS, self.positions)
        return [
            StoredRecord(number, offset, offset * 1_000, b"", b"{}")
            for number in self.positions
            for offset in self._partitions[number][1]
        ]


@pytest.mark.parametrize(
    ("partitions", "since_ms"),
    [
        ([(0, [0, 1]), (0, [])], 0),
        ([(0, [0, 1]), (7, [7, 8]), (3, [3])], 7_000),
        ([(0, [0, 1]), (7, [7, 8]), (3, [])], NOW_MS),
    ],
)
def test_the_topic_is_complete_since_its_oldest_undeleted_record(monkeypatch, partitions, since_ms):
    """In a partition emptied by retention the time of its last event is unknown: then no event counts as missing."""
    topic, clock = Topic(*partitions), FakeClock()
    clock.advance(NOW_MS - clock.now_ms())
    monkeypatch.setattr(verifying, "Cluster", lambda _properties: topic)
    monkeypatch.setattr(read_to_end, "TopicReader", lambda *_: topic)
    reported = []
    cluster = VerifiedCluster({}, clock)
    assert cluster.events(EVENTS, lambda *each: reported.append(each)) == since_ms
    assert (reported, cluster.unread) == ([], sum(len(offsets) for _, offsets in partitions))
