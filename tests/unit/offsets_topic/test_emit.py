"""When commits are emitted: before a group's record, else at intervals."""

from __future__ import annotations

import pytest

from rebalance_agent.offsets_topic import emit
from rebalance_agent.offsets_topic.emit import COMMITS_EVERY_S, ObservationEmitter
from rebalance_agent.offsets_topic.group_records import GroupRecords
from rebalance_agent.tracking.observations import CommitsSeen, GroupRecord
from support.kafka.commits import Shown, commit_key, commit_value
from support.observer.fakes import fake_context

DELETED = b"\0\2\0\1g"


class Tail:
    def __init__(self):
        self.context = fake_context()
        self.groups = GroupRecords(self.context)
        self.emitter = ObservationEmitter(self.context, self.groups, on_records=None)
        self.offset = 0

    def read(self, *keys_and_values):
        """What is observed of one read."""
        records = [Shown(self.offset + index, *pair, 7_000) for index, pair in enumerate(keys_and_values)]
        self.offset += len(records)
        self.emitter.emit_live(records, [message for message, _ in self.groups.of_groups(records)], {0: self.offset})
        return self.context.inbox.take(9, 0)


@pytest.fixture
def tail():
    return Tail()


def commit(partition, offset):
    return commit_key(partition), commit_value(offset)


def test_commits_of_several_reads_are_observed_as_one_when_their_time_has_come(tail):
    tail.read()
    assert tail.read(commit(0, 5), commit(1, 6)) == tail.read(commit(0, 7)) == []
    tail.context.clock.advance(round(COMMITS_EVERY_S * 1000))
    (seen,) = tail.read()
    assert seen.commits == {commit_key(0): (7_000, 7), commit_key(1): (7_000, 6)}
    tail.context.clock.advance(round(COMMITS_EVERY_S * 1000))
    assert tail.read() == []


def test_a_record_of_a_group_does_not_overtake_the_commits_before_it(tail):
    tail.read(commit(0, 5))
    commits, deleted = tail.read(commit(1, 6), (DELETED, None), commit(0, 7))
    assert commits.commits == {commit_key(0): (7_000, 5), commit_key(1): (7_000, 6)}
    assert isinstance(deleted, GroupRecord)


def test_as_many_commits_as_one_read_may_bring_do_not_wait(tail, monkeypatch):
    monkeypatch.setattr(emit, "COMMITS_MAX", 2)
    assert tail.read(commit(0, 5)) == []
    (seen,) = tail.read(commit(1, 6))
    assert isinstance(seen, CommitsSeen)


def test_commits_of_partitions_that_are_lost_are_observed_before_their_loss(tail):
    tail.read(commit(0, 5))
    tail.emitter.drop([0])
    (seen,) = tail.context.inbox.take(9, 0)
    assert seen.commits == {commit_key(0): (7_000, 5)}
