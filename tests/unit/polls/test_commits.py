import threading

import pytest

from rebalance_agent.polls import commits as module
from rebalance_agent.polls.commits import CommittedOffsets
from support.kafka.commits import GROUP, OffsetsPartition, Shown, commit_key, commit_value
from support.observer.fakes import Calls

WANTED = frozenset({("t", 0), ("t", 1)})


class Bench:
    """Commits of one followed group, from one partition of the offsets topic."""

    def __init__(self):
        self.log, self.meters, self.seen = OffsetsPartition(), Calls(), 0
        self.commits = CommittedOffsets(lambda group: group == GROUP, self.meters)
        self.commits.on_records([], {0: 0})
        self.commits.follow({GROUP: WANTED})
        self.commits.fetched(GROUP, {})

    def read(self):
        """The tail reads up to the end."""
        self.commits.on_records(self.log.records[self.seen :], {0: self.log.end})
        self.seen = len(self.log.records)

    def judge(self):
        assert self.commits.to_judge() <= {0}
        self.commits.judge({0: self.log.stable}, {0: self.log.end})
        return {number: offset for (_, number), offset in self.commits.offsets(GROUP).items()}

    def doubtful(self):
        return self.commits.doubtful(9) == [GROUP]


@pytest.fixture
def bench():
    return Bench()


def test_plain_commits_and_tombstones_are_used_without_a_request(bench):
    bench.log.something_else()
    bench.log.commit(0, 10)
    bench.log.commit(1, 20)
    bench.log.commit(0, 11)
    bench.read()
    assert bench.judge() == {0: 11, 1: 20}
    bench.log.commit(1, None)
    bench.read()
    assert bench.judge() == {0: 11}
    assert not bench.doubtful()


def test_a_commit_of_an_open_transaction_is_not_used_and_stays_uncertain(bench):
    bench.log.commit(0, 10)
    bench.log.commit(0, 99, "tx")
    bench.read()
    for known in ({}, {0: 10}):
        assert bench.judge() == known
        assert bench.doubtful()
        bench.commits.fetched(GROUP, {("t", 0): 10})
    bench.log.finish("tx", commit=False)
    bench.read()
    assert bench.judge() == {0: 10}
    assert bench.doubtful()


def test_a_commit_before_the_end_of_a_transaction_is_requested(bench):
    bench.log.something_else()
    bench.log.commit(0, 10, "tx")
    bench.log.finish("tx", commit=False)
    bench.read()
    assert bench.judge() == {}
    assert bench.doubtful()
    bench.commits.fetched(GROUP, {})
    bench.log.commit(0, 11)
    bench.read()
    assert bench.judge() == {0: 11}
    assert not bench.doubtful()


def test_a_commit_before_an_open_transaction_of_another_producer_is_used(bench):
    bench.log.commit(0, 10)
    bench.log.commit(1, 99, "tx")
    bench.read()
    assert bench.judge() == {0: 10}
    assert bench.doubtful()


def test_no_commit_is_used_before_the_end_was_read(bench):
    bench.log.commit(0, 10, "tx")
    bench.read()
    bench.log.finish("tx", commit=False)
    assert bench.judge() == {}
    assert bench.doubtful()


def test_no_commit_is_used_if_an_end_is_unknown(bench):
    bench.log.commit(0, 10)
    bench.read()
    bench.commits.to_judge()
    bench.commits.judge({0: 1}, {})
    assert (bench.commits.offsets(GROUP), bench.doubtful()) == ({}, True)


def test_unread_records_make_commits_uncertain(bench):
    bench.log.commit(0, 10)
    bench.read()
    bench.commits.on_records([], {0: 500})
    bench.commits.to_judge()
    bench.commits.judge({0: 500}, {0: 500})
    assert (bench.commits.offsets(GROUP), bench.doubtful()) == ({}, True)


def test_the_wait_ends_when_the_tail_has_reached_the_position(bench):
    assert not bench.commits.wait_read({0: 1}, 0)
    reader = threading.Thread(target=bench.read)
    bench.log.commit(0, 10)
    reader.start()
    assert bench.commits.wait_read({0: 1}, 30)
    reader.join()


def test_other_groups_and_partitions_are_not_kept(bench):
    strangers = [
        Shown(0, commit_key(0, "other"), commit_value(1)),
        Shown(1, commit_key(7), commit_value(1)),
        Shown(2, b"\0\x63", b""),
    ]
    bench.commits.on_records(strangers, {0: 3})
    assert bench.commits.to_judge() == frozenset()
    bench.commits.fetched(GROUP, {("t", 7): 1, ("t", 0): 2})
    bench.commits.fetched("other", {("t", 0): 2})
    assert bench.commits.offsets(GROUP) == {("t", 0): 2}
    assert bench.commits.offsets("other") == {}


def test_new_groups_and_partitions_are_uncertain_and_removed_ones_leave_no_data(bench):
    commits = bench.commits
    commits.fetched(GROUP, {("t", 0): 5, ("t", 1): 6})
    commits.follow({GROUP: frozenset({("t", 0)})})
    assert (commits.offsets(GROUP), bench.doubtful()) == ({("t", 0): 5}, False)
    commits.follow({GROUP: WANTED})
    assert bench.doubtful()
    commits.follow({})
    assert (commits.offsets(GROUP), commits.doubtful(9)) == ({}, [])


def test_groups_with_the_oldest_request_are_first():
    commits = CommittedOffsets(lambda _group: True, Calls())
    commits.follow(dict.fromkeys("abc", WANTED))
    assert [commits.doubtful(2) for _ in range(3)] == [["a", "b"], ["c", "a"], ["b", "c"]]
    for name in "abc":
        commits.fetched(name, {})
    commits.doubt()
    assert sorted(commits.doubtful(9)) == ["a", "b", "c"]


def test_malformed_records_are_counted_and_change_nothing(bench):
    bench.commits.fetched(GROUP, {("t", 0): 5})
    bench.log.records += [
        Shown(0, b"\0\1\xff\0", b""),
        Shown(1, commit_key(0), b"\0\3short"),
    ]
    bench.log.end = 2
    bench.read()
    assert bench.judge() == {0: 5}
    assert bench.meters.of("decode_error") == [(1,), (1,)]


def test_commits_of_a_later_version_are_requested(bench):
    bench.log.records.append(Shown(0, commit_key(0), b"\0\x63" + bytes(40)))
    bench.log.end = 1
    bench.read()
    assert bench.judge() == {}
    assert bench.doubtful()
    assert bench.meters.of("unknown_record") == [("value_version",)]


def test_cached_names_are_bounded():
    assert module.KEYS_MAX <= 100_000
