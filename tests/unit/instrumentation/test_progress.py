from __future__ import annotations

import logging

import pytest

from rebalance_agent.instrumentation import Instrumentation
from rebalance_agent.instrumentation import consumer_progress as progress
from rebalance_agent.instrumentation.consumer_progress import ConsumerProgress
from rebalance_agent.model.events import Callback
from support.observer.recorded_instrumentation import RecordedInstrumentation

P, Q = ("t", 0), ("t", 1)


class Consumer:
    """A consumer's position in each partition."""

    def __init__(self):
        self.at = {P: 0, Q: 0}
        self.progress = ConsumerProgress(
            lambda partitions: {each: self.at[each] for each in partitions if each in self.at}
        )
        self.progress.assigned([P, Q])

    def reads(self, partition, first, last):
        for offset in range(first, last + 1):
            self.progress.read(partition, offset)
        self.at[partition] = last + 1


def test_records_read_but_not_committed_are_consumed_again():
    consumer = Consumer()
    consumer.reads(P, 10, 19)
    consumer.reads(Q, 100, 104)
    consumer.progress.committed({P: 14})
    assert consumer.progress.given_up([P, Q]) == 6 + 5


def test_after_a_commit_of_everything_no_record_is_consumed_again():
    consumer = Consumer()
    consumer.reads(P, 10, 19)
    consumer.progress.committed({P: 20})
    assert consumer.progress.given_up([P]) == 0


def test_the_next_owner_begins_at_the_groups_offset():
    consumer = Consumer()
    consumer.progress.fetched([P], {P: 8}, from_start=False)
    consumer.reads(P, 10, 19)  # offsets 8 and 9 are missing in the log
    assert consumer.progress.given_up([P]) == 12


def test_with_auto_offset_reset_latest_no_records_are_reprocessed():
    consumer = Consumer()
    consumer.progress.fetched([P], {}, from_start=False)
    consumer.reads(P, 10, 19)
    assert consumer.progress.given_up([P]) == 0


def test_from_the_first_commit_on_reprocessed_records_are_counted_with_latest():
    consumer = Consumer()
    consumer.progress.fetched([P], {}, from_start=False)
    consumer.reads(P, 10, 19)
    consumer.progress.committed({P: 15})
    assert consumer.progress.given_up([P]) == 5


def test_without_an_offset_the_next_owner_begins_at_the_start():
    consumer = Consumer()
    consumer.progress.fetched([P], {}, from_start=True)
    consumer.reads(P, 10, 19)
    assert consumer.progress.given_up([P]) == 10


def test_a_partition_that_returns_at_the_same_offset_is_counted_once():
    consumer = Consumer()
    consumer.reads(P, 10, 19)
    assert consumer.progress.given_up([P]) == 10
    consumer.progress.assigned([P])
    consumer.reads(P, 10, 12)
    assert consumer.progress.take() == 0


def test_a_partition_that_returns_at_a_lower_offset_is_counted_for_the_difference():
    consumer = Consumer()
    consumer.progress.fetched([P], {P: 10}, from_start=True)
    consumer.reads(P, 10, 19)
    assert consumer.progress.given_up([P]) == 10
    consumer.progress.assigned([P])
    consumer.progress.fetched([P], {P: 3}, from_start=True)
    assert consumer.progress.take() == 7
    assert consumer.progress.take() == 0


def test_a_partition_that_others_advanced_is_not_counted():
    consumer = Consumer()
    consumer.reads(P, 10, 19)
    consumer.progress.given_up([P])
    consumer.progress.assigned([P])
    consumer.reads(P, 50, 51)
    assert consumer.progress.take() == 0


def test_positions_are_saved_for_a_client_that_drops_them_early():
    consumer = Consumer()
    consumer.reads(P, 10, 19)
    consumer.progress.save_positions([P])
    consumer.at.clear()
    assert consumer.progress.given_up([P]) == 10


def test_seeking_back_is_not_counted():
    consumer = Consumer()
    consumer.reads(P, 10, 19)
    consumer.progress.committed({P: 20})
    consumer.at[P] = 5
    assert consumer.progress.given_up([P]) == 0


def test_partitions_of_other_members_are_not_stored():
    consumer = Consumer()
    consumer.progress.committed({("other", 7): 3})
    consumer.progress.fetched([("other", 7)], {("other", 7): 3}, from_start=True)
    consumer.progress.read(("other", 7), 3)
    assert consumer.progress._resume == {}


def test_memory_is_bounded(monkeypatch):
    monkeypatch.setattr(progress, "PARTITIONS_MAX", 3)
    monkeypatch.setattr(progress, "LEFT_MAX", 2)
    watched = ConsumerProgress(lambda partitions: dict.fromkeys(partitions, 5))
    many = [("t", number) for number in range(10)]
    watched.assigned(many)
    for each in many:
        watched.read(each, 1)
    assert len(watched._resume) == 3
    watched.given_up(many)
    assert len(watched._left) == 2


class Reading(RecordedInstrumentation):
    """A consumer that reads offsets 0 to 9 of its partitions."""

    def __init__(self, positions=None):
        super().__init__()
        self.hooks = Instrumentation(
            group="group",
            client_id="client",
            membership=lambda: self.now,
            positions=positions or (lambda partitions: dict.fromkeys(partitions, 10)),
            clock=self.clock,
            reporter=self.recorder,
        )


class Partition:
    topic, partition = P


class Commits:
    def __init__(self, hooks):
        self.hooks = hooks

    def on_partitions_assigned(self, assigned):
        pass

    def on_partitions_revoked(self, revoked):
        self.hooks.progress.committed({P: 7})


def test_events_contain_reprocessed_records_and_respect_commits_in_the_callback():
    reading = Reading()
    listener = reading.hooks.listener(Commits(reading.hooks))
    listener.on_partitions_assigned([Partition])
    reading.hooks.progress.read(P, 0)
    listener.on_partitions_revoked([Partition])
    assert [(each.callback, each.reprocessed_records) for each in reading.events] == [
        (Callback.ASSIGNED, 0),
        (Callback.REVOKED, 3),
    ]


def test_waits_are_only_in_the_following_event():
    reading = Reading()
    listener = reading.hooks.listener()
    reading.hooks.waited(2.5, 0.5)
    listener.on_partitions_assigned([Partition])
    listener.on_partitions_revoked([Partition])
    assert [(each.join_seconds, each.sync_seconds) for each in reading.events] == [(2.5, 0.5), (None, None)]


def test_without_positions_no_progress_is_reported():
    recorded = RecordedInstrumentation()
    recorded.hooks.listener().on_partitions_revoked([Partition])
    assert recorded.events[0].reprocessed_records is None


@pytest.mark.parametrize("broken", [lambda _partitions: 1 / 0, lambda _partitions: {P: "?"}])
def test_a_failing_client_raises_nothing(broken, caplog):
    reading = Reading(broken)
    listener = reading.hooks.listener()
    listener.on_partitions_assigned([Partition])
    reading.hooks.progress.committed({P: 1})
    with caplog.at_level(logging.WARNING):
        listener.on_partitions_revoked([Partition])
    assert reading.events[-1].reprocessed_records is None
    assert "the consumer is not affected" in caplog.text
