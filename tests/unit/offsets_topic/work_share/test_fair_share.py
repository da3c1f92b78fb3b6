"""A group that causes too much work waits; the others do not wait and lose no records."""

from __future__ import annotations

import pytest
from bench.synthetic import group_key, group_value

from rebalance_agent.groupprotocol.consumer_protocol import encode_assignment, encode_subscription
from rebalance_agent.model.epoch_groups import GroupEpoch
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from rebalance_agent.offsets_topic.work_share import set_aside
from rebalance_agent.offsets_topic.work_share.fair_share import AHEAD_S, NAME_BYTES_MAX
from rebalance_agent.offsets_topic.work_share.work_budget import (
    ALL_RATE,
    GROUP_RATE,
    PART_S,
    WorkBudget,
    work_seconds,
)
from rebalance_agent.tracking.memory.recent_names import NAMED_MS
from rebalance_agent.tracking.observations import EpochRecord, GroupRecord
from support.observer.fakes import FakeRecord
from support.tracker.emitted_records import RecordReader, epoch_record
from support.tracker.epochs import current, fact, joins

REAL = 2_000
"""Partitions of the cluster's largest topic."""


def reader():
    return RecordReader(t=REAL, orders=4)


def _value(generation, partitions, members=1, topics=("t",)):
    subscription = encode_subscription(ConsumerSubscription(1, topics, None, {}, -1, None))
    assignment = encode_assignment(ConsumerAssignment(1, partitions, None))
    return group_value(generation, [(f"m{number}", subscription, assignment) for number in range(members)])


ORDERS = "orders", _value(1, {"orders": (0, 1, 2, 3)}, topics=("orders",))
ABSURD = "hostile", _value(1, {"absurd": tuple(range(220_000))})
MANY_OWNERS = "hostile", _value(1, {"t": tuple(range(REAL))}, members=40)


def test_a_group_with_nonexistent_partitions_costs_at_most_its_share():
    observer = reader()
    found = observer.run(20, ABSURD, ORDERS)
    assert sum(record.group == "orders" for record in found) == 200, "the others never wait"
    hostile = [record for record in found if record.group == "hostile"]
    assert sum(work_seconds(record.value) for record in hostile) <= 20 * GROUP_RATE + 1
    assert observer.emitter.share.named() == ["hostile"]


def test_a_group_with_many_owners_per_partition_costs_at_most_its_share():
    observer = reader()
    hostile = [record for record in observer.run(20, MANY_OWNERS, ORDERS) if record.group == "hostile"]
    assert 0 < sum(work_seconds(record.value) for record in hostile) <= 20 * GROUP_RATE + 2
    assert sum(record.skipped for record in hostile) + len(hostile) <= 200


def test_many_such_groups_leave_time_for_the_others():
    observer = reader()
    hostile = [(f"hostile-{number}", MANY_OWNERS[1]) for number in range(10)]
    found = observer.run(10, ORDERS, *hostile)
    work = sum(work_seconds(record.value) for record in found if record.group != "orders")
    assert work <= 10 * ALL_RATE + 3
    assert sum(record.group == "orders" for record in found) == 100


def test_a_group_with_a_flood_of_small_generations_has_its_share_and_the_last_one_is_shown():
    observer = reader()
    flood = [("hostile", _value(number, {"t": (0,)})) for number in range(1, 101)]
    found = observer.run(2, *flood, ORDERS)
    hostile = [record for record in found if record.group == "hostile"]
    assert len(hostile) <= (2 * GROUP_RATE + 1) / work_seconds(hostile[0].value)
    after = observer.run(10)
    assert (hostile + after)[-1].value.generation == 100
    assert any(record.skipped for record in hostile + after)


@pytest.mark.no_cover  # as above
def test_an_ordinary_large_group_is_read_at_once():
    """2,000 members and 10,000 partitions, eager, one rebalance every two seconds."""
    observer = reader()
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
    observer = reader()
    observer.run(5, ABSURD)
    observer.context.clock.advance(NAMED_MS - 1_000)
    assert observer.emitter.share.named() == ["hostile"]
    observer.context.clock.advance(20_000)
    assert observer.emitter.share.named() == []


def test_positions_wait_for_waiting_records():
    observer = reader()
    observer.run(3, ABSURD, ORDERS)
    assert observer.emitter.share.held_back({0: observer.offset})[0] < observer.offset
    observer.run(60)
    assert observer.emitter.share.held_back({0: observer.offset}) == {0: observer.offset}


def test_a_group_waits_until_its_work_is_paid_off():
    budget = WorkBudget(0.0)
    assert budget.allows(b"g", 100, 0.0)
    budget.spend(b"g", 100, 1.0, 0.0)
    assert not budget.allows(b"g", 100, 1.9)
    assert budget.allows(b"g", 100, 2.1)
    assert budget.allows(b"other", 100, 0.0)


@pytest.mark.no_cover  # the same lines for each of 20,000 records: coverage takes longer than the test
@pytest.mark.parametrize("members", [1, 50, 100_000])
def test_a_group_whose_coordinator_assigns_also_has_a_share(members):
    """Its members write 5,000 records per second, with few keys or each with a new one."""
    observer, written, found, seconds = reader(), 0, [], 4
    orders = epoch_record(joins(0, "a"), "orders")
    for _ in range(seconds * 10):
        flood = [epoch_record(current(0, f"m{(written + each) % members}", written + each)) for each in range(500)]
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


def test_a_rebalance_of_a_large_group_whose_coordinator_assigns_is_read_completely_and_soon():
    """2,000 members join at once, get an epoch and 10,000 partitions, and reach the epoch within five seconds."""
    observer = reader()
    names = [f"m{number}" for number in range(2_000)]
    found = observer.read(epoch_record(fact(0, GroupEpoch(2))), *(epoch_record(joins(0, name)) for name in names))
    for each in range(50):
        observer.context.clock.advance(100)
        owners = [(names[at], range(5 * at, 5 * at + 5)) for at in range(40 * each, 40 * (each + 1))]
        found += observer.read(*(epoch_record(current(0, name, 2, numbers)) for name, numbers in owners))
    found += observer.run(1)
    assert (len(found), [record for record in found if record.skipped]) == (4_001, [])


def test_kinds_of_groups_with_one_name_share_its_budget_and_their_order():
    observer = reader()
    found = observer.read(*[("g", ORDERS[1])] * 300, epoch_record(fact(0, GroupEpoch(2)), "g"))
    assert all(isinstance(record, GroupRecord) for record in found)
    assert isinstance((found + observer.run(10))[-1], EpochRecord)


def _flood(observer, groups=("hostile",)):
    """Let several hundred records of each group wait; return the observations emitted so far."""
    for each in range(10):
        observer.read(
            *(epoch_record(current(0, f"m{number}", each + 2), group) for group in groups for number in range(300))
        )


MEDIUM = "medium", _value(1, {"t": tuple(range(REAL))}, members=2)
"""A group that is not light after a record like this, and not over its budget either."""


def test_while_the_tracker_is_late_only_records_of_light_groups_are_emitted():
    observer = reader()
    inbox, share = observer.context.inbox, observer.emitter.share
    _know(observer, "hostile", "orders")
    observer.read(*(epoch_record(current(0, f"m{number}", 2), "hostile") for number in range(300)))
    inbox.put(fact(0, GroupEpoch(2)), work_s=AHEAD_S)
    observer.emit(*(epoch_record(current(0, f"m{number}", 2), "hostile") for number in range(300)))
    assert len(inbox) == 1
    observer.emit(ORDERS)
    assert [record.group for record in observer.taken()] == ["g", "orders"]
    share.release()
    assert PART_S * len(inbox) <= AHEAD_S + PART_S < PART_S * (len(inbox) + 20), "as many as there is time for"


def test_known_groups_with_larger_records_delay_no_other_known_group():
    """Each of them keeps its share, and is light when its next record comes; together they need much more time."""
    observer, hostile = reader(), [f"hostile-{number}" for number in range(40)]
    _know(observer, "orders", *hostile)
    for step in range(60):
        observer.emit(*[(name, _value(step, {"t": tuple(range(1_000))})) for name in hostile], ORDERS)
        found = observer.taken()
        assert step == 0 or len(found) < 10, "others wait"
        observer.emitter.share.release()
        assert "orders" in [record.group for record in (*found, *observer.taken()[:1])]
        for _ in range(4):  # as much work as there is time for
            observer.emitter.share.release()
            observer.taken()
        observer.context.clock.advance(300)


def test_a_group_whose_records_are_dropped_because_others_wait_is_named(monkeypatch):
    observer = reader()
    monkeypatch.setattr(set_aside, "KEY_RECORDS_MAX", 1)
    observer.context.inbox.put(fact(0, GroupEpoch(2)), work_s=AHEAD_S)
    observer.emit(MEDIUM, MEDIUM)
    assert observer.emitter.share.named() == []
    observer.emit(MEDIUM, ORDERS)
    assert observer.emitter.share.named() == ["medium"]


def _know(observer, *groups):
    observer.emitter.emit_past([FakeRecord(group_key(group), ORDERS[1]) for group in groups])
    observer.taken()


def test_a_group_that_waits_for_others_is_not_over_budget():
    observer = reader()
    assert [record.group for record in observer.read(MEDIUM)] == ["medium"]
    observer.context.inbox.put(fact(0, GroupEpoch(2)), work_s=AHEAD_S)
    observer.emit(MEDIUM)
    observer.emitter.share.release()
    assert [record.group for record in observer.taken()] == ["g"]
    assert observer.emitter.share.named() == []
    assert observer.context.meters.of("over_budget") == []
    assert [record.group for record in observer.read()] == ["medium"]


def test_records_that_were_dropped_are_missing_before_the_next_one_that_need_not_wait(monkeypatch):
    observer = reader()
    monkeypatch.setattr(set_aside, "ALL_BYTES_MAX", 0)
    monkeypatch.setattr(set_aside, "NEW_BYTES_MAX", 0)
    observer.read(*[MANY_OWNERS] * 3)
    observer.run(120)
    (found,) = observer.read(MANY_OWNERS)
    assert found.skipped == 2


def test_records_that_were_dropped_before_an_unreadable_one_are_missing_before_the_next_one(monkeypatch):
    observer = reader()
    monkeypatch.setattr(set_aside, "KEY_RECORDS_MAX", 1)
    observer.read(*[MANY_OWNERS] * 3, ("hostile", b"\0"))
    assert observer.run(120) == []
    (found,) = observer.read(MANY_OWNERS)
    assert found.skipped == 2


def test_the_backlog_of_a_busy_group_is_read_completely():
    """An observer that was away for minutes reads hundreds of its rebalances at once."""
    observer = reader()
    found = observer.read(*[("busy", _value(number, {"t": (0,)})) for number in range(1, 401)])
    found += observer.run(20)
    assert [(record.value.generation, record.skipped) for record in found] == [(number, 0) for number in range(1, 401)]


def test_groups_that_wait_take_turns():
    observer = reader()
    groups = [f"hostile-{number}" for number in range(5)]
    _flood(observer, groups)
    observer.context.clock.advance(1_000)
    observer.emitter.share.release()
    emitted = [record.group for record in observer.taken()]
    counts = [emitted.count(group) for group in groups]
    assert max(counts) - min(counts) <= 1 < min(counts)


def test_a_group_of_a_dropped_partition_waits_again_like_any_other():
    observer = reader()
    _flood(observer)
    observer.emitter.share.drop([0])
    observer.context.clock.advance(10_000)
    _flood(observer)
    found = observer.run(30)
    assert found[-1].value.epoch == 11
    assert observer.emitter.share.held_back({0: observer.offset}) == {0: observer.offset}


def test_long_names_take_no_memory_once_their_records_are_processed():
    """Groups with names of 30,000 characters that differ in the last one: each has its own share."""
    observer = reader()
    names = ["x" * 30_000 + end for end in "ab"]
    found = observer.run(2, *[(name, _value(1, {"t": (0,)})) for name in names])
    assert [sum(record.group == name for record in found) for name in names] == [20, 20]
    remembered = observer.emitter.share._budget._new
    assert len(remembered) == 2
    assert max(map(len, remembered)) <= NAME_BYTES_MAX


def test_a_group_is_named_while_the_thread_that_reads_has_no_time_for_anything_else():
    """One batch of records may take minutes while the inbox is full."""
    observer = reader()
    observer.read()
    observer.context.clock.advance(1_000)
    for offset in range(8):
        record = FakeRecord(group_key("hostile"), ABSURD[1], None, observer.context.clock.now_ms(), (0, offset))
        observer.emitter.emit_live([record], [record], {0: offset + 1})
        observer.taken()
    assert observer.context.meters.of("groups_over_budget")[-1] == ("work", ["hostile"])
