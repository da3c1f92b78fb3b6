from __future__ import annotations

import pytest
from confluent_kafka import KafkaError, KafkaException
from structlog.testing import capture_logs

from rebalance_agent.collectors.snapshot_codec import StoredRecord
from rebalance_agent.errors import ClusterError
from rebalance_agent.runtime.snapshots import PENDING_BYTES_MAX, TOPIC_CONFIG, SnapshotStore
from support.fakes import Calls, fake_context
from support.snapshots import OWNER, FakeCluster, FakeProducer, FakeReader

NOBODY = {0: (0, 0)}


class Stored:
    def __init__(self, topic=None, cluster=None):
        self.topic = [] if topic is None else topic
        self.made, self.told = [], Calls()
        self.context = fake_context(cluster or FakeCluster())
        self.store = SnapshotStore(
            self.context,
            "state",
            OWNER,
            "all",
            written=self.told.written,
            make=self._make,
            reader=FakeReader(self.topic),
        )

    def _make(self, settings):
        self.made.append((settings, FakeProducer(self.topic)))
        return self.made[-1][1]

    @property
    def producer(self):
        return self.made[-1][1]

    def begin(self, *base):
        found = self.store.load(NOBODY | {0: (0, 1_000)}).get(0)
        self.store.begin(0, base, found)
        return found

    def cover(self, position, reached=None):
        self.store.reached({0: position if reached is None else reached})
        self.store.cover({0: position})
        self.store.serve()

    def problems(self):
        return [problem for (problem,) in self.context.meters.of("snapshot_problem")]


def _record(offset, key=b"k", value=b"v"):
    return StoredRecord(0, offset, 1_000, key, value)


@pytest.fixture(autouse=True)
def logs():
    with capture_logs() as captured:
        yield captured


def test_what_was_covered_is_read_back_by_the_next_one():
    stored = Stored()
    assert stored.begin(_record(1, b"old")) is None
    stored.store.see(_record(5, b"a"))
    stored.store.see(_record(7, b"b"))
    stored.cover(6, reached=8)
    found = Stored(stored.topic).begin()
    assert found.position == 6
    assert [(each.key(), each.offset()) for each in found.records] == [(b"old", 1), (b"a", 5)]


def test_it_is_told_when_and_of_how_much():
    stored = Stored()
    stored.begin()
    stored.store.see(_record(5))
    stored.cover(6)
    ((now_ms, size_bytes),) = stored.told.of("written")
    assert now_ms == stored.context.clock.now_ms()
    assert size_bytes > 0


def test_nothing_is_written_where_nothing_changed():
    stored = Stored()
    stored.begin()
    stored.cover(6)
    written = len(stored.topic)
    stored.cover(6)
    assert len(stored.topic) == written


def test_a_marker_that_was_lost_is_written_again():
    stored = Stored()
    stored.begin()
    stored.producer.fails = 1
    stored.cover(6)
    assert stored.topic == []
    assert stored.problems() == ["write"]
    stored.cover(6)
    assert Stored(stored.topic).begin().position == 6


def test_a_record_that_was_lost_is_written_again_before_anybody_builds_on_the_rest():
    stored = Stored()
    stored.begin()
    stored.store.see(_record(5))
    stored.producer.fails = 1
    stored.cover(6)
    assert Stored(stored.topic).begin() is None
    stored.cover(6)
    assert [each.offset() for each in Stored(stored.topic).begin().records] == [5]


def test_what_was_said_of_an_earlier_time_with_the_partition_counts_for_nothing():
    stored = Stored()
    stored.begin(_record(3))
    stored.cover(4)
    stored.store.drop([0])
    stored.begin()
    stored.cover(9, reached=4)
    assert Stored(stored.topic).begin().position == 4


def test_what_somebody_else_has_is_not_written():
    stored = Stored()
    stored.begin()
    stored.store.drop([0])
    stored.cover(9)
    assert stored.topic == []


def test_a_partition_that_is_not_known_as_a_whole_is_not_covered():
    stored = Stored()
    stored.store.load(NOBODY)
    stored.store.see(_record(5))
    stored.cover(6)
    assert stored.topic == []


def test_what_an_unusable_snapshot_left_is_deleted():
    stored = Stored()
    stored.begin(_record(1, b"old"), _record(2, b"kept"))
    stored.cover(3)
    stored.topic.pop()  # the marker
    again = Stored(stored.topic)
    assert again.begin(_record(2, b"kept")) is None
    again.cover(3)
    assert sum(value is None for _, value in again.topic) == 1
    assert [each.key() for each in Stored(again.topic).begin().records] == [b"kept"]


def test_records_that_wait_for_their_events_have_a_bound(logs):
    stored = Stored()
    stored.begin()
    stored.cover(1)
    half = b"x" * (PENDING_BYTES_MAX // 2 + 1)
    for offset in range(2, 6):
        stored.store.see(_record(offset, b"%d" % offset, half))
    stored.cover(6)
    assert stored.problems() == ["too_large"]
    assert [log["event"] for log in logs if log["log_level"] == "warning"] == ["snapshot_not_written"]
    assert Stored(stored.topic).begin().position == 1


def test_a_producer_that_can_go_on_no_more_is_replaced():
    stored = Stored()
    stored.begin()

    def poll(_timeout):
        raise KafkaException(KafkaError(KafkaError._FATAL, "fenced", True))

    stored.producer.poll = poll
    stored.producer.flush = lambda _timeout: 0
    stored.store.serve()
    assert len(stored.made) == 2
    stored.cover(6)
    assert Stored(stored.topic).begin().position == 6


def test_a_full_queue_is_waited_for():
    stored = Stored()
    stored.begin()
    stored.store.see(_record(5))
    produce = stored.producer.produce

    def full(*_arguments, **_named):
        raise BufferError

    stored.producer.produce = full
    stored.cover(6)
    stored.producer.produce = produce
    stored.cover(6)
    assert Stored(stored.topic).begin().position == 6
    assert stored.problems() == []


class Without(FakeCluster):
    """No topic, and perhaps no right to make one."""

    def __init__(self, refused=None):
        self.created, self._refused = [], refused

    def identify(self):
        return "cluster", {"__consumer_offsets": 4}

    def create_topic(self, *arguments):
        if self._refused:
            raise self._refused
        self.created.append(arguments)
        return True


def test_the_topic_is_made_with_as_many_partitions_as_the_offsets_topic_has():
    cluster = Without()
    Stored(cluster=cluster).begin()
    assert cluster.created == [("state", 4, TOPIC_CONFIG)]
    assert TOPIC_CONFIG["cleanup.policy"] == "compact"


def test_where_it_may_not_be_made_the_command_is_told_and_all_else_works(logs):
    stored = Stored(cluster=Without(ClusterError("denied")))
    stored.begin(_record(1))
    stored.cover(2)
    assert stored.topic == []
    (told,) = [log for log in logs if log["event"] == "topic_not_created"]
    assert "--config cleanup.policy=compact" in told["command"]


def test_a_cluster_that_does_not_answer_leaves_it_without_snapshots():
    cluster = FakeCluster()

    def away():
        raise ClusterError("away")

    cluster.identify = away
    stored = Stored(cluster=cluster)
    assert stored.begin(_record(1)) is None
    assert stored.problems() == ["unreadable"]
