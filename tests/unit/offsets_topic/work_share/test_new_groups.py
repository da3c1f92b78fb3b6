"""New groups have one budget together, so that a client that creates and deletes groups delays no known group."""

from __future__ import annotations

import pytest
from bench.synthetic import group_key, group_value

from rebalance_agent.groupprotocol.consumer_protocol import encode_assignment, encode_subscription
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from rebalance_agent.offsets_topic.work_share import work_budget
from rebalance_agent.offsets_topic.work_share.fair_share import AHEAD_S
from rebalance_agent.offsets_topic.work_share.work_budget import BURST_S, NEW_S, WorkBudget, work_seconds
from support.observer.fakes import FakeRecord
from support.tracker.emitted_records import RecordReader

STEP_S = 0.1


def _value(partitions):
    subscription = encode_subscription(ConsumerSubscription(1, ("t",), None, {}, -1, None))
    assignment = encode_assignment(ConsumerAssignment(1, {"t": tuple(range(partitions))}, None))
    return group_value(1, [("m", subscription, assignment)])


SMALL, LARGE = _value(4), _value(4_000)


class Observer(RecordReader):
    """A tail, and a tracker that works for as long as time passes."""

    def __init__(self):
        super().__init__(t=4_000)
        self._ahead = 0.0

    def know(self, group):
        self.emitter.emit_past([FakeRecord(group_key(group), SMALL)])
        self.context.inbox.take(1, 0)

    def read(self, *records):
        """Read ``records`` (group, value) and let the tracker work; return the groups whose records it processed."""
        self.context.clock.advance(round(STEP_S * 1_000))
        self.emit(*records)
        self._ahead += STEP_S
        processed = []
        while self._ahead > 0 and (taken := self.context.inbox.take(1, 0)):
            processed += [each.group for each in taken]
            self._ahead -= sum(work_seconds(each.value) for each in taken)
        self._ahead = min(self._ahead, 0.0)
        assert self.context.inbox.work_s < 1, "far more work than the tracker does in a step"
        return processed


@pytest.mark.parametrize("deleted", [True, False])
def test_created_groups_delay_no_record_of_a_known_group(deleted):
    observer, waiting, longest = Observer(), 0, 0
    observer.know("orders")
    for step in range(200):
        created = [(f"created-{step}-{number}", LARGE) for number in range(6)]
        gone = [(group, None) for group, _ in created] if deleted else []
        processed = observer.read(*created, *gone, ("orders", SMALL))
        waiting += 1 - processed.count("orders")
        longest = max(longest, waiting)
    # The tracker may be processing one record while the limit of work ahead is reached.
    assert longest * STEP_S <= AHEAD_S + 2 * STEP_S + BURST_S


def test_new_groups_are_read_as_long_as_there_is_time():
    observer = Observer()
    processed = []
    for step in range(20):
        processed += observer.read(*[(f"created-{step}-{number}", SMALL) for number in range(10)])
    assert len(processed) == 200


def test_a_group_that_comes_after_a_flood_of_groups_does_not_wait_for_all_of_them():
    observer = Observer()
    created = [f"created-{number}" for number in range(100)]
    processed = observer.read(*[(group, LARGE) for group in created])
    processed += observer.read(("new", SMALL))
    while "new" not in processed:
        processed += observer.read()
    assert len(processed) <= 10
    while observer.emitter.share.release_s or len(observer.context.inbox):
        processed += observer.read()
    assert sorted(processed) == sorted(["new", *created])


def test_a_new_group_that_is_deleted_while_its_record_waits_causes_no_work():
    observer = Observer()
    created = [f"created-{number}" for number in range(50)]
    observer.read(*[(group, LARGE) for group in created])
    deleted = {group for group in created if group.encode() in observer.emitter.share._waiting}
    observer.read(*[(group, None) for group in deleted])
    processed = []
    while observer.emitter.share.release_s:
        processed += observer.context.inbox.take(1, 0)
        observer.read()
    assert len(deleted) > 40
    of_deleted = [each for each in processed if each.group in deleted]
    assert all(each.value is None and each.skipped == 1 for each in of_deleted)


def test_a_group_is_known_some_time_after_its_first_record():
    budget = WorkBudget(0.0)
    budget.spend(b"older", 100, 0.01, 0.0)
    budget.know(b"read before", NEW_S)
    for number in range(100):
        budget.spend(b"created %d" % number, 100, BURST_S, NEW_S)
    names = (b"read before", b"older", b"created 1", b"unseen")
    assert [budget.is_new(group, NEW_S) for group in names] == [False, False, True, True]
    assert not budget.is_new(b"created 1", 2 * NEW_S)


def test_created_groups_push_out_no_known_one(monkeypatch):
    monkeypatch.setattr(work_budget, "GROUPS_MAX", 3)
    budget = WorkBudget(0.0)
    budget.know(b"orders", 0.0)
    for number in range(10):
        budget.spend(b"created %d" % number, 100, BURST_S, 0.0)
    assert not budget.is_new(b"orders", 0.0)
    assert len(budget._new) == 3
