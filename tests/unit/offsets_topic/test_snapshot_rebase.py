from __future__ import annotations

from rebalance_agent.offsets_topic.snapshots.rebase import SnapshotRebase
from support.observer.fakes import Calls


class Store(Calls):
    wanted = frozenset()

    def missing(self, partitions):
        return self.wanted & partitions


class Old(Calls):
    pending = frozenset()
    found = None

    def read(self):
        return self.found or {}


def _bases(wanted=(), pending=()):
    store, old = Store(), Old()
    store.wanted, old.pending = frozenset(wanted), frozenset(pending)
    return store, old, SnapshotRebase(store, old)


def test_missing_records_are_read_up_to_the_tails_position():
    _, old, bases = _bases(wanted={0, 2})
    bases.look({0: 5, 1: 6, 2: 7})
    assert old.of("expect") == [({0: 5, 2: 7},)]


def test_records_that_were_read_already_are_not_requested_again():
    _, old, bases = _bases(wanted={0}, pending={0})
    bases.look({0: 5})
    assert old.of("expect") == [({},)]


def test_the_snapshot_begins_with_the_records_read():
    store, old, bases = _bases()
    old.found = {3: ["a record"]}
    bases.read()
    assert store.of("begin") == [(3, ["a record"], None)]


def test_an_empty_partition_has_nothing_to_read():
    store, _, bases = _bases(wanted={0})
    bases.look({0: 0})
    assert store.of("begin") == [(0, (), None)]


def test_a_lost_partition_is_no_longer_read():
    _, old, bases = _bases(pending={1})
    bases.drop({0})
    bases.close()
    assert old.of("drop") == [({0},), (frozenset({1}),)]
