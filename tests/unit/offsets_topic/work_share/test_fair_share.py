"""One group that causes too much work waits; the others do not, and nothing of theirs is lost."""

from __future__ import annotations

from dataclasses import replace

import pytest
from bench.synthetic import group_key, group_value

from rebalance_agent.groupprotocol.consumer_protocol import encode_assignment, encode_subscription
from rebalance_agent.model.epoch_groups import GroupEpoch
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from rebalance_agent.offsets_topic.emit import ObservationEmitter
from rebalance_agent.offsets_topic.group_records import GroupRecords
from rebalance_agent.offsets_topic.work_share import fair_share
from rebalance_agent.offsets_topic.work_share.crowds import NEW_MAX
from rebalance_agent.offsets_topic.work_share.fair_share import AHEAD_MAX, NAMED_S
from rebalance_agent.offsets_topic.work_share.work_budget import (
    ALL_RATE,
    BURST_S,
    GROUP_RATE,
    PART_S,
    RECORD_S,
    WorkBudget,
    work_seconds,
)
from rebalance_agent.tracking.observations import EpochRecord, GroupRecord
from support.observer.fakes import FakeRecord, fake_context
from support.observer.posted import posted
from support.tracker.epochs import current, fact, joins

REAL = 2_000
"""Partitions of the cluster's largest topic."""


class Observer:
    """The tail's half of an observer: records go in, observations come out."""

    def __init__(self):
        self.context = fake_context()
        records = GroupRecords(self.context)
        records.topic_sizes = {"t": REAL, "orders": 4}
        self.emitter = ObservationEmitter(self.context, records, None)
        self.offset = 0
        self.emitter.begin()
        self.emitter.gaps.begin({0: 0})

    def read(self, *records):
        """``records``: of classic groups by their group, others by their key, each with its value."""
        messages = self._messages(records)
        self.emitter.share.release()
        self.emitter.emit_live(messages, messages, {0: self.offset})
        return self._taken()

    def _messages(self, records):
        messages = [
            FakeRecord(
                group if isinstance(group, bytes) else group_key(group),
                value,
                None,
                self.context.clock.now_ms(),
                (0, self.offset + index),
            )
            for index, (group, value) in enumerate(records)
        ]
        self.offset += len(messages)
        return messages

    def emit(self, *records):
        """As `read`, but waiting records stay where they are."""
        self.emitter.emit_live(messages := self._messages(records), messages, {0: self.offset})
        return [record for record in self._taken() if isinstance(record, GroupRecord)]

    def _taken(self):
        taken = self.context.inbox.take(10_000, 0)
        return [each for each in taken if isinstance(each, GroupRecord | EpochRecord)]

    def run(self, seconds, *records, step_ms=100):
        found = []
        for _ in range(seconds * 1_000 // step_ms):
            self.context.clock.advance(step_ms)
            found += self.read(*records)
        return found


def _value(generation, partitions, members=1, topics=("t",)):
    subscription = encode_subscription(ConsumerSubscription(1, topics, None, {}, -1, None))
    assignment = encode_assignment(ConsumerAssignment(1, partitions, None))
    return group_value(generation, [(f"m{number}", subscription, assignment) for number in range(members)])


def _part(observation, group="hostile"):
    """The key and the value of a record of a consumer group."""
    record = posted(replace(observation, group=group), 0)
    return record.key, record.value


ORDERS = "orders", _value(1, {"orders": (0, 1, 2, 3)}, topics=("orders",))
ABSURD = "hostile", _value(1, {"absurd": tuple(range(220_000))})
MANY_OWNERS = "hostile", _value(1, {"t": tuple(range(REAL))}, members=40)


def test_a_group_whose_records_claim_what_does_not_exist_costs_its_share_at_most():
    observer = Observer()
    found = observer.run(20, ABSURD, ORDERS)
    assert sum(record.group == "orders" for record in found) == 200, "the others never wait"
    hostile = [record for record in found if record.group == "hostile"]
    assert sum(work_seconds(record.value) for record in hostile) <= 20 * GROUP_RATE + 1
    assert observer.emitter.share.named() == ["hostile"]


def test_a_group_whose_partitions_have_many_owners_costs_its_share_at_most():
    observer = Observer()
    hostile = [record for record in observer.run(20, MANY_OWNERS, ORDERS) if record.group == "hostile"]
    assert 0 < sum(work_seconds(record.value) for record in hostile) <= 20 * GROUP_RATE + 2
    assert sum(record.skipped for record in hostile) + len(hostile) <= 200


def test_many_such_groups_together_leave_time_for_the_others():
    observer = Observer()
    hostile = [(f"hostile-{number}", MANY_OWNERS[1]) for number in range(10)]
    found = observer.run(10, ORDERS, *hostile)
    work = sum(work_seconds(record.value) for record in found if record.group != "orders")
    assert work <= 10 * ALL_RATE + 3
    assert sum(record.group == "orders" for record in found) == 100


def test_a_group_that_floods_small_generations_has_its_share_and_the_last_one_is_shown():
    observer = Observer()
    flood = [("hostile", _value(number, {"t": (0,)})) for number in range(1, 101)]
    found = observer.run(2, *flood, ORDERS)
    hostile = [record for record in found if record.group == "hostile"]
    assert len(hostile) <= (2 * GROUP_RATE + 1) / work_seconds(hostile[0].value)
    after = observer.run(10)
    assert (hostile + after)[-1].value.generation == 100
    assert any(record.skipped for record in hostile + after)


@pytest.mark.no_cover  # as above
def test_an_ordinary_large_group_is_read_at_once():
    """2,000 members and 10,000 partitions, eager, one rebalance each two seconds."""
    observer = Observer()
    observer.emitter._records.topic_sizes = {"t": 10_000}
    members = []
    for number in range(2_000):
        partitions = tuple(range(5 * number, 5 * number + 5))
        subscription = encode_subscription(ConsumerSubscription(1, ("t",), None, {"t": partitions}, -1, None))
        members.append((f"m{number}", subscription, encode_assignment(ConsumerAssignment(1, {"t": partitions}, None))))
    found = [len(observer.run(2, ("large", group_value(number, members)), step_ms=2_000)) for number in range(1, 20)]
    assert found == [1] * 19
    assert observer.emitter.share.named() == []


def test_a_group_is_named_as_long_as_alerts_need_it():
    observer = Observer()
    observer.run(5, ABSURD)
    observer.context.clock.advance(round(NAMED_S * 1_000) - 1_000)
    assert observer.emitter.share.named() == ["hostile"]
    observer.context.clock.advance(20_000)
    assert observer.emitter.share.named() == []


def test_positions_wait_for_the_records_that_wait():
    observer = Observer()
    observer.run(3, ABSURD, ORDERS)
    assert observer.emitter.share.held_back({0: observer.offset})[0] < observer.offset
    observer.run(60)
    assert observer.emitter.share.held_back({0: observer.offset}) == {0: observer.offset}


def test_the_work_that_is_owed_is_waited_for():
    budget = WorkBudget(0.0)
    assert budget.allows(b"g", 100, 0.0)
    budget.spend(b"g", 100, 1.0, 0.0)
    assert not budget.allows(b"g", 100, 1.9)
    assert budget.allows(b"g", 100, 2.1)
    assert budget.allows(b"other", 100, 0.0)


@pytest.mark.no_cover  # the same lines for each of 20,000 records: counting them takes longer than running them
@pytest.mark.parametrize("members", [1, 50, 100_000])
def test_a_group_whose_coordinator_assigns_has_a_share_too(members):
    """Its members write 5,000 records a second, of few keys or each of another one."""
    observer, written, found, seconds = Observer(), 0, [], 4
    orders = _part(joins(0, "a"), "orders")
    for _ in range(seconds * 10):
        flood = [_part(current(0, f"m{(written + each) % members}", written + each)) for each in range(500)]
        written += len(flood)
        observer.context.clock.advance(100)
        found += observer.read(*flood, orders, ORDERS)
    assert sum(record.group == "orders" for record in found) == 20 * seconds, "the others never wait"
    hostile = [record for record in found if record.group == "hostile"]
    assert PART_S * len(hostile) <= seconds * GROUP_RATE + 1 < PART_S * written
    assert observer.emitter.share.named() == ["hostile"]
    after = observer.run(60)
    assert (hostile + after)[-1].value.epoch == written - 1, "the last one is read"
    assert sum(record.skipped for record in hostile + after) + len(hostile + after) == written
    offsets = [record.offset for record in hostile + after]
    assert offsets == sorted(offsets)


def test_a_rebalance_of_a_large_group_whose_coordinator_assigns_is_read_whole_and_soon():
    """2,000 members join at once, get an epoch, and reach it within five seconds."""
    observer = Observer()
    names = [f"m{number}" for number in range(2_000)]
    found = observer.read(_part(fact(0, GroupEpoch(2))), *(_part(joins(0, name)) for name in names))
    for each in range(50):
        observer.context.clock.advance(100)
        found += observer.read(*(_part(current(0, name, 2)) for name in names[40 * each : 40 * (each + 1)]))
    found += observer.run(1)
    assert (len(found), [record for record in found if record.skipped]) == (4_001, [])


def test_kinds_of_groups_with_one_name_share_its_budget_and_their_order():
    observer = Observer()
    found = observer.read(*[("g", ORDERS[1])] * 300, _part(fact(0, GroupEpoch(2)), "g"))
    assert all(isinstance(record, GroupRecord) for record in found)
    assert isinstance((found + observer.run(10))[-1], EpochRecord)


def _flood(observer, groups=("hostile",)):
    """Let some hundred records of each group wait, and take what was emitted of them."""
    for each in range(10):
        observer.read(*(_part(current(0, f"m{number}", each + 2), group) for group in groups for number in range(300)))


def test_records_that_waited_come_behind_those_of_others_while_the_tracker_is_late():
    observer = Observer()
    inbox, share = observer.context.inbox, observer.emitter.share
    _flood(observer)
    for _ in range(AHEAD_MAX):
        inbox.put(fact(0, GroupEpoch(2)))
    observer.context.clock.advance(1_000)
    share.release()
    assert len(inbox) == AHEAD_MAX + 1, "one at a time"
    inbox.take(10_000, 0)
    share.release()
    assert len(inbox) == AHEAD_MAX


def _late(observer):
    """Make the tracker late: nobody takes what is in the inbox."""
    for _ in range(AHEAD_MAX):
        observer.context.inbox.put(fact(0, GroupEpoch(2)))


SMALL = _value(1, {"t": (0,)})
WITHIN = round(BURST_S / RECORD_S) + 1
"""Small records that use up the share of a crowd, at most."""


@pytest.mark.parametrize("names", ["hostile-{}", "{}-hostile", "hostile.{}.a", "a" * 300 + "{}"])
def test_many_groups_that_each_do_little_come_behind_others_while_the_tracker_is_late(names):
    observer = Observer()
    _late(observer)
    crowd = [names.format(number) for number in range(2 * WITHIN)]
    emitted = observer.emit(*((name, SMALL) for name in crowd), ORDERS)
    assert len(emitted) <= WITHIN + 1, "the crowd has its share"
    assert [record.group for record in emitted] == [*crowd[: len(emitted) - 1], "orders"], "the others never wait"
    assert len(observer.emitter.share.named()) == 1
    for _ in range(WITHIN):  # the tracker is not late any more
        observer.emitter.share.release()
        emitted += observer.emit()
    assert sorted(record.group for record in emitted) == sorted([*crowd, "orders"]), "nothing is lost"
    assert not any(record.skipped for record in emitted)


def test_a_crowd_is_named_by_the_beginning_of_its_names():
    observer = Observer()
    _late(observer)
    observer.emit(*((f"hostile-{number}", SMALL) for number in range(2 * WITHIN)), ORDERS)
    assert observer.emitter.share.named() == ["hostile*"]
    observer.context.clock.advance(round((NAMED_S + 1) * 1_000))
    assert observer.emitter.share.named() == []


def test_many_groups_are_read_at_once_while_the_tracker_is_not_late():
    observer = Observer()
    found = observer.read(*((f"group-{number}", SMALL) for number in range(AHEAD_MAX)))
    assert len(found) == AHEAD_MAX
    assert observer.emitter.share.named() == []


def test_names_without_a_common_beginning_have_one_share_if_there_are_many():
    observer = Observer()
    _late(observer)
    crowd = [f"{chr(97 + number % 26)}{chr(97 + number // 26 % 26)}{chr(97 + number // 676)}x" for number in range(900)]
    emitted = observer.emit(*((name, SMALL) for name in crowd))
    assert NEW_MAX < len(emitted) <= NEW_MAX + WITHIN
    assert observer.emitter.share.named() == ["*"]


def test_of_very_many_small_records_none_is_skipped_for_others(monkeypatch):
    """They may be of an ordinary fleet that restarts: beyond this bound they are read on, and Kafka keeps the rest."""
    monkeypatch.setattr(fair_share, "CROWD_BYTES_MAX", 10_000)
    observer = Observer()
    _late(observer)
    names = [f"group-{number}" for number in range(4 * WITHIN)]
    emitted = observer.emit(*((name, SMALL) for name in names))
    assert 2 * WITHIN < len(emitted) < len(names)


def test_groups_that_wait_take_turns():
    observer = Observer()
    groups = [f"hostile-{number}" for number in range(5)]
    _flood(observer, groups)
    observer.context.clock.advance(1_000)
    observer.emitter.share.release()
    emitted = [record.group for record in observer.context.inbox.take(10_000, 0)]
    assert {group: emitted.count(group) for group in groups} == dict.fromkeys(groups, AHEAD_MAX // 5)


def test_a_group_whose_records_are_no_longer_read_waits_anew_as_any_other():
    observer = Observer()
    _flood(observer)
    observer.emitter.share.drop([0])
    observer.context.clock.advance(10_000)
    _flood(observer)
    found = observer.run(30)
    assert found[-1].value.epoch == 11
    assert observer.emitter.share.held_back({0: observer.offset}) == {0: observer.offset}
