"""Snapshots that can be read back are correct, whether writes are accepted, lost, late or altered."""

from __future__ import annotations

from hypothesis import example, given, settings
from hypothesis import strategies as st
from structlog.testing import capture_logs

from rebalance_agent.offsets_topic.snapshots.codec import StoredRecord, marker_key
from rebalance_agent.offsets_topic.snapshots.store import SnapshotStore
from support.examples import examples
from support.observer.fakes import fake_context
from support.observer.snapshots import OWNER, FakeCluster, FakeProducer, FakeReader

KEYS = st.sampled_from([b"a", b"b", b"c"])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("record"), KEYS, st.booleans()),
        st.tuples(st.just("cover"), st.integers(0, 12), st.just(None)),
        st.tuples(st.just("fail"), st.integers(0, 3), st.just(None)),
        st.tuples(st.just("restart"), st.none() | st.integers(0, 9), st.integers(1, 33)),
    ),
    max_size=40,
)


def _truth(log, position):
    last = {record.key(): record for record in log if record.offset() < position}
    return sorted((record for record in last.values() if record.value() is not None), key=StoredRecord.offset)


class Life:
    """A sequence of stores; ``log``: the records of the offsets topic, ``topic``: those of the snapshots' topic."""

    def __init__(self):
        self.topic, self.log = [], []
        self.producer = FakeProducer(self.topic)
        self.covered = 0
        self.begin()

    def begin(self):
        """Start a store with the readable snapshot, which is returned."""
        self.store = SnapshotStore(
            fake_context(FakeCluster()),
            "state",
            OWNER,
            "all",
            make=lambda _settings: self.producer,
            reader=FakeReader(self.topic),
        )
        found = self.store.load({0: (0, len(self.log))}).get(0)
        self.store.begin(0, () if found else _truth(self.log, len(self.log)), found)
        # Records before the tail are never covered partially: their end is the minimum.
        self.least = found.position if found else len(self.log)
        if found:
            assert list(found.records) == _truth(self.log, found.position)
            for record in self.log[found.position :]:
                self.store.see(record)
        self.store.reached({0: len(self.log)})
        return found

    def record(self, key, value):
        offset = len(self.log)
        record = StoredRecord(0, offset, 1_000 + offset, key, b"value %d" % offset if value else None)
        self.log.append(record)
        self.store.see(record)

    def cover(self, behind, _):
        self.store.reached({0: len(self.log)})
        self.covered = max(self.covered, self.least, len(self.log) - behind)
        self.store.serve()
        self.store.cover({0: self.covered})

    def fail(self, number, _):
        self.producer.fails = number

    def alter(self, number, place):
        """The byte that is ``place`` before the end of a record that is kept; no marker's."""
        marker = marker_key(OWNER.encode(), 0)
        kept = [at for at, (key, value) in enumerate(self.topic) if key != marker and value is not None]
        if kept:
            at = kept[number % len(kept)]
            key, value = self.topic[at]
            place = max(0, len(value) - place)
            self.topic[at] = (key, value[:place] + bytes([value[place] ^ 1]) + value[place + 1 :])

    def compact(self):
        """Like the log cleaner: the last record of each key stays at its offset."""
        last = {key: number for number, (key, _) in enumerate(self.topic)}
        self.topic[:] = [each for number, each in enumerate(self.topic) if last[each[0]] == number]


@settings(max_examples=examples())
@given(STEPS, st.booleans())
@example([("record", b"a", True), ("cover", 0, None), ("restart", 0, 1)], False)
def test_a_snapshot_equals_the_records_before_its_position(steps, compacted):
    with capture_logs():
        life = Life()
        lossy = any(step == "fail" or (step == "restart" and first is not None) for step, first, _ in steps)
        for step, first, second in steps:
            if step != "restart":
                getattr(life, step)(first, second)
                continue
            if compacted:
                life.compact()
            if first is not None:
                life.alter(first, second)
            found = life.begin()
            assert lossy or not life.covered or found.position == life.covered
        # Once Kafka accepts everything, the next store continues from the end.
        life.store.serve()
        life.fail(0, None)
        for _ in range(2):
            life.cover(0, None)
        assert not life.log or life.begin().position == len(life.log)
