from __future__ import annotations

from dataclasses import replace

import pytest
from confluent_kafka import KafkaError, KafkaException
from structlog.testing import capture_logs

from rebalance_agent.errors import ClusterError
from rebalance_agent.offsets_topic.snapshots.codec import VERSION, SnapshotAssembly, StoredRecord, marker_value
from rebalance_agent.offsets_topic.snapshots.other_writer import CERTAIN_S
from rebalance_agent.offsets_topic.snapshots.partition import MARKED_AGAIN_MS
from rebalance_agent.offsets_topic.snapshots.store import AGAIN_S, PENDING_BYTES_MAX, TOPIC_CONFIG, SnapshotStore
from support.observer.fakes import fake_context
from support.observer.snapshots import OWNER, FakeCluster, FakeProducer, FakeReader

NOBODY = {0: (0, 0)}


class Stored:
    def __init__(self, topic=None, cluster=None, owner=OWNER):
        self.topic = [] if topic is None else topic
        self.made, self.refused = [], None
        self.reader = FakeReader(self.topic)
        self.context = fake_context(cluster or FakeCluster())
        self.store = SnapshotStore(
            self.context,
            "state",
            owner,
            "all",
            make=self._make,
            reader=self.reader,
        )

    def _make(self, settings):
        if self.refused:
            raise self.refused
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


def test_a_partition_is_stored_when_kafka_has_acknowledged_its_snapshot():
    stored = Stored()
    assert stored.store.stored([0])  # not our partition: no wait
    stored.begin()
    assert not stored.store.stored([0])
    stored.store.reached({0: 0})
    stored.store.cover({0: 0})
    assert not stored.store.stored([0])
    stored.store.serve()
    assert stored.store.stored([0])
    successor = Stored(stored.topic)
    successor.begin()
    assert successor.store.stored([0])


def test_the_next_observer_reads_the_covered_records():
    stored = Stored()
    assert stored.begin(_record(1, b"old")) is None
    stored.store.see(_record(5, b"a"))
    stored.store.see(_record(7, b"b"))
    stored.cover(6, reached=8)
    found = Stored(stored.topic).begin()
    assert found.position == 6
    assert [(each.key(), each.offset()) for each in found.records] == [(b"old", 1), (b"a", 5)]


def test_snapshots_are_due_from_the_first_partition_on():
    """Otherwise an observer that never writes one would not be noticed."""
    stored = Stored()
    stored.begin()
    assert stored.context.meters.of("snapshot_due") == [(stored.context.clock.now_ms(),)]


def test_time_and_size_of_a_snapshot_are_reported():
    stored = Stored()
    stored.begin()
    stored.store.see(_record(5))
    stored.cover(6)
    ((now_ms, size_bytes),) = stored.context.meters.of("snapshot_written")
    assert now_ms == stored.context.clock.now_ms()
    assert size_bytes > 0


def test_unchanged_partitions_are_not_written():
    stored = Stored()
    stored.begin()
    stored.cover(6)
    written = len(stored.topic)
    stored.cover(6)
    assert len(stored.topic) == written


def test_the_snapshot_of_an_idle_partition_is_refreshed():
    stored = Stored()
    stored.begin(_record(3))
    stored.cover(6)
    first = Stored(stored.topic).begin().written_ms
    for _ in range(3):
        stored.context.clock.advance(MARKED_AGAIN_MS)
        stored.cover(6)
        stored.cover(6)
    assert Stored(stored.topic).begin().written_ms == first + 3 * MARKED_AGAIN_MS
    assert len(stored.topic) == 2 + 3
    stored.context.clock.advance(MARKED_AGAIN_MS)
    stored.cover(6, reached=7)
    assert len(stored.topic) == 2 + 3


def test_a_lost_marker_is_written_again():
    stored = Stored()
    stored.begin()
    stored.producer.fails = 1
    stored.cover(6)
    assert stored.topic == []
    assert stored.problems() == ["write"]
    stored.cover(6)
    assert Stored(stored.topic).begin().position == 6


def test_a_lost_record_is_written_again_before_the_snapshot_is_used():
    stored = Stored()
    stored.begin()
    stored.store.see(_record(5))
    stored.producer.fails = 1
    stored.cover(6)
    assert Stored(stored.topic).begin() is None
    stored.cover(6)
    assert [each.offset() for each in Stored(stored.topic).begin().records] == [5]


def test_coverage_of_an_earlier_ownership_of_the_partition_is_ignored():
    stored = Stored()
    stored.begin(_record(3))
    stored.cover(4)
    stored.store.drop([0])
    stored.begin()
    stored.cover(9, reached=4)
    assert Stored(stored.topic).begin().position == 4


def test_snapshots_of_dropped_partitions_are_not_written():
    stored = Stored()
    stored.begin()
    stored.store.drop([0])
    stored.cover(9)
    assert stored.topic == []


def test_an_incomplete_partition_is_not_covered():
    stored = Stored()
    stored.store.load(NOBODY)
    stored.store.see(_record(5))
    stored.cover(6)
    assert stored.topic == []


def test_records_of_an_unusable_snapshot_are_deleted():
    stored = Stored()
    stored.begin(_record(1, b"old"), _record(2, b"kept"))
    stored.cover(3)
    stored.topic.pop()  # the marker
    again = Stored(stored.topic)
    assert again.begin(_record(2, b"kept")) is None
    again.cover(3)
    assert sum(value is None for _, value in again.topic) == 1
    assert [each.key() for each in Stored(again.topic).begin().records] == [b"kept"]


def _as_an_older_version_wrote(topic):
    """The same snapshot with the version of an older one, record by record."""
    assembly = SnapshotAssembly(OWNER.encode(), [0])
    for key, value in topic:
        assembly.add(key, value)
    older = replace(assembly.marker(0), version=VERSION - 1)
    *records, (key, _) = topic
    return [*((key, bytes([VERSION - 1]) + value[1:]) for key, value in records), (key, marker_value(older))]


def test_records_of_an_older_version_are_overwritten_or_deleted():
    stored = Stored()
    stored.begin(_record(1, b"old"), _record(2, b"kept"))
    stored.cover(3)
    again = Stored(_as_an_older_version_wrote(stored.topic))
    assert again.begin(_record(2, b"kept")) is None
    again.cover(3)
    last = dict(again.topic)
    assert len(last) == 3
    assert [value for value in last.values() if value is None] == [None]
    assert [each.key() for each in Stored(again.topic).begin().records] == [b"kept"]


def test_records_waiting_for_their_events_are_bounded(logs):
    stored = Stored()
    stored.begin()
    stored.cover(1)
    half = b"x" * (PENDING_BYTES_MAX // 2 + 1)
    for offset in range(2, 6):
        stored.store.see(_record(offset, b"%d" % offset, half))
    stored.cover(6)
    assert stored.problems() == ["too_large"]
    assert [log["event"] for log in logs if log["log_level"] == "warning"] == ["snapshot_ended"]
    assert Stored(stored.topic).begin().position == 1


def test_the_largest_partition_makes_room_for_the_others(monkeypatch, logs):
    monkeypatch.setattr("rebalance_agent.offsets_topic.snapshots.store.PENDING_BYTES_MAX", 10_000)
    stored = Stored()
    stored.begin()
    ended = []
    for number, size in ((0, 6_000), (1, 4_000), (1, 5_000), (1, 1_000)):
        stored.store.see(replace(_record(2, b"k", b"x" * size), from_partition=number))
        ended.append([log["partition"] for log in logs if log["event"] == "snapshot_ended"])
    assert ended == [[], [0], [0], [0, 1]]


def test_a_partition_that_became_too_large_is_reported_even_while_nothing_can_be_written(logs):
    stored = Stored()
    stored.begin()
    stored.producer.fails = 1
    stored.cover(1)
    stored.store.see(_record(2, b"k", b"x" * (PENDING_BYTES_MAX + 1)))
    assert [log["event"] for log in logs if log["log_level"] == "warning"] == ["snapshot_not_written", "snapshot_ended"]


def test_records_without_a_value_are_bounded(monkeypatch):
    monkeypatch.setattr("rebalance_agent.offsets_topic.snapshots.store.PENDING_BYTES_MAX", 10_000)
    stored = Stored()
    stored.begin()
    for offset in range(100):
        stored.store.see(_record(offset, b"%d" % offset, None))
    assert stored.problems() == ["too_large"]


def test_deletions_pending_while_nothing_can_be_written_are_bounded(monkeypatch):
    monkeypatch.setattr("rebalance_agent.offsets_topic.snapshots.store.PENDING_BYTES_MAX", 10_000)
    stored = Stored()
    stored.begin()
    _end(stored)
    stored.refused = FATAL
    for offset in range(0, 200, 2):
        stored.store.see(_record(offset, b"%d" % offset))
        stored.store.see(_record(offset + 1, b"%d" % offset, None))
        stored.cover(offset + 2)
    assert "too_large" in stored.problems()


def test_a_too_large_partition_starts_again_with_its_next_owner(monkeypatch):
    monkeypatch.setattr("rebalance_agent.offsets_topic.snapshots.store.PENDING_BYTES_MAX", 10_000)
    stored = Stored()
    stored.begin()
    stored.store.see(_record(2, b"k", b"x" * 10_001))
    stored.cover(3)
    stored.store.drop([0])
    stored.begin(_record(2, b"k", b"x" * 10_001))
    stored.cover(3)
    assert Stored(stored.topic).begin().position == 3


FATAL = KafkaException(KafkaError(KafkaError._FATAL, "fenced", True))
LONGEST_WAIT_MS = 61_000


def _end(stored):
    """Its producer has failed fatally: the next call of any method reports it, once."""
    reported = [FATAL]

    def ask(_timeout):
        if reported:
            raise reported.pop()
        return 0

    stored.producer.poll = stored.producer.flush = ask


def test_a_failed_producer_is_replaced_and_its_pending_records_are_written_again():
    stored = Stored()
    stored.begin(_record(1, b"old"))
    stored.producer.topic = []
    _end(stored)
    stored.cover(6)
    stored.context.clock.advance(LONGEST_WAIT_MS)
    stored.store.serve()
    assert len(stored.made) == 2
    stored.cover(6)
    found = Stored(stored.topic).begin()
    assert (found.position, [each.key() for each in found.records]) == (6, [b"old"])


def test_producers_without_the_right_to_write_are_replaced_at_growing_intervals():
    stored = Stored()
    stored.begin()
    for _ in range(600):
        _end(stored)
        stored.store.serve()
        stored.context.clock.advance(1_000)
    assert 10 < len(stored.made) < 30


def test_after_an_acknowledged_record_a_producer_is_replaced_at_once_again():
    stored = Stored()
    stored.begin()
    for position in range(1, 20):
        _end(stored)
        stored.store.serve()
        stored.context.clock.advance(1_000)
        stored.store.serve()
        stored.cover(position)
    assert len(stored.made) == 20


def test_without_a_producer_nothing_is_sent_and_nothing_is_lost():
    stored = Stored()
    stored.begin()
    _end(stored)
    stored.store.serve()
    for offset in range(3):
        stored.store.see(_record(offset))
        stored.store.reached({0: offset + 1})
        stored.store.cover({0: offset + 1})
    assert stored.topic == []
    stored.context.clock.advance(LONGEST_WAIT_MS)
    stored.store.serve()
    stored.cover(3)
    assert [each.offset() for each in Stored(stored.topic).begin().records] == [2]


def test_the_creation_of_a_producer_is_retried_later():
    stored = Stored()
    stored.begin()
    _end(stored)
    stored.refused = KafkaException(KafkaError(KafkaError._INVALID_ARG, "no such file"))
    for _ in range(2):
        stored.store.serve()
        stored.context.clock.advance(LONGEST_WAIT_MS)
    assert len(stored.made) == 1
    stored.refused = None
    stored.store.serve()
    stored.cover(6)
    assert Stored(stored.topic).begin().position == 6


def test_a_fatal_error_at_the_stop_is_no_crash():
    stored = Stored()
    _end(stored)
    stored.store.close(0)


def test_librdkafkas_own_log_is_disabled():
    ((settings, _),) = Stored().made
    assert settings["logger"].disabled


def test_a_full_queue_is_awaited():
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
    """No topic, and optionally no right to create one."""

    servers = "kafka:9092"

    def __init__(self, refused=None):
        self.created, self._refused = [], refused

    def identify(self):
        return "cluster", {"__consumer_offsets": 4}

    def create_topic(self, *arguments):
        if self._refused:
            raise self._refused
        self.created.append(arguments)
        return True


def test_the_topic_is_created_with_the_partition_count_of_the_offsets_topic():
    cluster = Without()
    Stored(cluster=cluster).begin()
    assert cluster.created == [("state", 4, TOPIC_CONFIG)]
    assert TOPIC_CONFIG["cleanup.policy"] == "compact"


def test_without_the_right_to_create_the_topic_the_command_is_printed_and_everything_else_works(logs):
    stored = Stored(cluster=Without(ClusterError("denied")))
    stored.begin(_record(1))
    stored.cover(2)
    assert stored.topic == []
    (reported,) = [log for log in logs if log["event"] == "topic_not_created"]
    assert "--config cleanup.policy=compact" in reported["command"]


def test_without_a_topic_nothing_is_kept(monkeypatch):
    monkeypatch.setattr("rebalance_agent.offsets_topic.snapshots.store.PENDING_BYTES_MAX", 10_000)
    stored = Stored(cluster=Without(ClusterError("denied")))
    stored.store.load(NOBODY)
    kept = []

    class Kept(StoredRecord):
        def __del__(self):
            kept.remove(self.at_offset)

    for offset in range(100):
        kept.append(offset)
        stored.store.see(Kept(0, offset, 1_000, b"%d" % offset, None))
    stored.begin(_record(1))
    for offset in range(100, 200):
        kept.append(offset)
        stored.store.see(Kept(0, offset, 1_000, b"%d" % offset, b"v" * 100))
    assert kept == []
    assert stored.problems() == []


def test_a_topic_created_later_covers_only_later_records():
    cluster = Without(ClusterError("denied"))
    stored = Stored(cluster=cluster)
    stored.store.load(NOBODY)
    stored.store.see(_record(3, b"missed"))
    cluster._refused = None
    stored.begin(_record(1))
    stored.cover(4)
    assert stored.topic == []
    stored.store.drop([0])
    stored.begin(_record(1), _record(3, b"missed"))
    stored.cover(4)
    assert Stored(stored.topic).begin().position == 4


def test_load_repeats_a_request_without_a_response():
    cluster = FakeCluster()

    def away():
        raise ClusterError("away")

    cluster.identify = away
    stored = Stored(cluster=cluster)
    with pytest.raises(ClusterError):
        stored.store.load(NOBODY)
    del cluster.identify
    stored.begin(_record(1))
    stored.cover(2)
    assert Stored(stored.topic).begin().position == 2


def test_a_topic_created_later_is_used_automatically(logs):
    stored = Stored(cluster=Without(ClusterError("denied")))
    stored.begin(_record(1))
    assert stored.store.missing([0]) == frozenset()
    for _ in range(2):
        stored.store.on_topics({"state": 1, "other": 3})
    assert [log["partitions"] for log in logs if log["event"] == "state_topic_found"] == [1]
    assert stored.store.missing([0]) == {0}
    stored.store.see(_record(4, b"news"))
    stored.store.begin(0, [_record(1, b"old")], None)
    stored.cover(5)
    assert [each.key() for each in Stored(stored.topic).begin().records] == [b"old", b"news"]


def test_a_partition_read_again_is_covered_only_from_its_end():
    stored = Stored(cluster=Without(ClusterError("denied")))
    stored.begin()
    stored.store.on_topics({"state": 1})
    stored.store.missing([0])
    stored.store.begin(0, [_record(7)], None)
    stored.cover(5, reached=8)  # a group's rebalance from before the partition was read again is still unsettled
    assert stored.topic == []
    stored.cover(8)
    assert Stored(stored.topic).begin().position == 8


def test_a_too_large_partition_starts_again_once_its_pending_records_are_covered(monkeypatch):
    monkeypatch.setattr("rebalance_agent.offsets_topic.snapshots.store.PENDING_BYTES_MAX", 10_000)
    stored = Stored()
    stored.begin()
    stored.store.reached({0: 3})
    stored.store.see(_record(3, b"k", b"x" * 10_001))
    stored.store.reached({0: 4})
    stored.store.cover({0: 2})
    assert stored.store.missing([0]) == frozenset()
    stored.store.cover({0: 3})
    assert stored.store.missing([0]) == {0}
    assert stored.store.missing([0]) == frozenset()
    stored.store.begin(0, [_record(3, b"k", b"x" * 10_001)], None)
    stored.cover(4)
    assert Stored(stored.topic).begin().position == 4


def test_partitions_are_read_again_at_most_at_an_interval(monkeypatch):
    monkeypatch.setattr("rebalance_agent.offsets_topic.snapshots.store.PENDING_BYTES_MAX", 10_000)
    stored = Stored()
    stored.begin()
    for anew in (True, False):
        stored.store.see(_record(3, b"k", b"x" * 10_001))
        stored.store.reached({0: 4})
        stored.store.cover({0: 4})
        assert (stored.store.missing([0]) == {0}) is anew
    stored.context.clock.advance(round(AGAIN_S * 1000))
    assert stored.store.missing([0]) == {0}


def test_while_nothing_can_be_written_no_partition_is_read_again():
    stored = Stored(cluster=Without(ClusterError("denied")))
    stored.begin()
    stored.store.on_topics({"state": 1})
    stored.refused = FATAL
    _end(stored)
    stored.store.serve()
    assert stored.store.missing([0]) == frozenset()


def test_a_topic_without_a_known_id_has_no_snapshots_yet():
    cluster = FakeCluster()
    stored = Stored(cluster=cluster)
    stored.begin(_record(1))
    stored.cover(2)

    def silent(_topic):
        raise ClusterError("timed out")

    cluster.topic_id = silent
    with pytest.raises(ClusterError):
        Stored(stored.topic, cluster).store.load(NOBODY)


def test_a_recreated_topic_is_another_one():
    cluster = FakeCluster()
    old, new = Stored(cluster=cluster), Stored(cluster=cluster)
    old.store.load(NOBODY)
    cluster.topic_id = lambda _topic: "another"
    new.store.load(NOBODY)
    assert old.reader.made_from != new.reader.made_from


def shared(logs):
    return [entry for entry in logs if entry["event"] == "state_topic_shared"]


@pytest.mark.parametrize(("owner", "warned"), [("", 1), (OWNER, 0)])
def test_another_writer_of_the_topic_is_reported_once(logs, owner, warned):
    """Replicas, which have an owner, write to one topic by design."""
    stored = Stored(owner=owner)
    stored.begin()
    for position in range(5, 9):
        stored.store.see(_record(position - 1))
        stored.cover(position)
        assert len(shared(logs)) == (warned if position > 6 else 0)
        stored.topic.append((b"another", b"record"))
        stored.context.clock.advance(int(CERTAIN_S * 1000))
    assert len(shared(logs)) == warned


def test_our_own_records_are_no_other_writer_also_after_a_loss(logs):
    stored = Stored(owner="")
    stored.begin()
    for position in range(5, 9):
        stored.store.see(_record(position - 1))
        stored.producer.fails = 10
        stored.cover(position)
        stored.producer.fails = 0
        stored.topic.append((b"lost for us", b"but in Kafka"))
        stored.cover(position)
        assert stored.store._others._next
        stored.context.clock.advance(int(CERTAIN_S * 1000))
    assert not shared(logs)
