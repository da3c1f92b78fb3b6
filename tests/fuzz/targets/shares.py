"""Floods of several groups at the tail: a flooding group waits, in order and within bounds, and others do not."""

from __future__ import annotations

from collections import Counter

from bench.synthetic import group_key, group_value

from fuzz.target import MB, Target
from rebalance_agent.groupprotocol.consumer_protocol import encode_assignment, encode_subscription
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from rebalance_agent.offsets_topic.emit import ObservationEmitter
from rebalance_agent.offsets_topic.group_records import GroupRecords
from rebalance_agent.offsets_topic.work_share import set_aside, work_budget
from support.observer.fakes import FakeRecord, fake_context

__all__ = ["TARGETS"]

TOPIC_SIZES = {"t": 50}
STEPS_MAX = 24
"""Records of one input."""

END = {0: 10**6}
"""Positions after all records of an input."""

WAITING_MAX = 4
"""Maximum number of waiting records of one group, so that some of an input are skipped."""

ASSIGNED_S = 30 * work_budget.ASSIGNED_S
"""Seconds of work by assigned partition: of 100 partitions it counts for as much as of 3,000, and takes less."""

LARGE = b"x" * (work_budget.LARGE_BYTES // 3)
"""User data with which the record of three members is large."""

SUBSCRIPTION = encode_subscription(ConsumerSubscription(1, ("t",), None, {}, -1, None))
ASSIGNMENTS = [
    encode_assignment(ConsumerAssignment(1, partitions, user_data))
    for partitions, user_data in (
        ({"t": (0, 1)}, None),
        ({"t": tuple(range(50))}, None),
        ({"t": tuple(range(60))}, LARGE),
        ({"u": tuple(range(100))}, LARGE),
    )
]
VALUES = [group_value(1, [(f"m{number}", SUBSCRIPTION, each) for number in range(3)]) for each in ASSIGNMENTS]


def take_shares(data):
    """Each two bytes are a record: one of four groups, its size, and the time since the previous one."""
    usual = set_aside.KEY_RECORDS_MAX, work_budget.ASSIGNED_S
    set_aside.KEY_RECORDS_MAX, work_budget.ASSIGNED_S = WAITING_MAX, ASSIGNED_S
    try:
        _flood(data)
    finally:
        set_aside.KEY_RECORDS_MAX, work_budget.ASSIGNED_S = usual


def _flood(data):
    context = fake_context()
    records = GroupRecords(context)
    records.topic_sizes = TOPIC_SIZES
    emitter = ObservationEmitter(context, records, None)
    emitter.begin()
    emitter.gaps.begin({0: 0})
    wrote, seen, skipped = Counter(), {}, Counter()
    for offset, (what, wait) in enumerate(zip(data[: 2 * STEPS_MAX : 2], data[1 : 2 * STEPS_MAX : 2], strict=False)):
        context.clock.advance(wait * wait // 8)
        group = f"g{what % 4}"
        value = b"\0" if what > 250 else VALUES[what // 4 % 4]
        record = FakeRecord(group_key(group), value, None, context.clock.now_ms(), (0, offset))
        wrote[group] += 1
        emitter.share.release()
        emitter.emit_live([record], [record], {0: offset + 1})
        _take(context, seen, skipped)
        assert emitter.share.held_back({0: offset + 1})[0] <= offset + 1
    for _ in range(2 * STEPS_MAX):
        context.clock.advance(5_000)
        emitter.share.release()
        _take(context, seen, skipped)
        if emitter.share.held_back(END) == END:
            break
    assert emitter.share.held_back(END) == END, "no record waits without end"
    malformed = len(context.meters.of("decode_error"))
    # What was dropped at the end, before an unreadable record, is missing before the next record of the group.
    missing = sum(skipped.values()) + sum(emitter.share._waiting._lost.values())
    assert sum(map(len, seen.values())) + missing + malformed == sum(wrote.values())
    dropped = sum(number for outcome, number in context.meters.of("over_budget") if outcome == "skipped")
    assert dropped == missing, "all of a group's records in the inbox have the number of missing ones"


def _take(context, seen, skipped):
    waiting = context.inbox.take(10 * STEPS_MAX, 0)
    assert sum(len(observation.value.members) for observation in waiting if observation.value) <= 3 * len(waiting)
    for observation in waiting:
        offsets = seen.setdefault(observation.group, [])
        assert not offsets or offsets[-1] < observation.offset, "each group's records are in order"
        offsets.append(observation.offset)
        skipped[observation.group] += observation.skipped


def shares():
    large, small = bytes([12, 10]), bytes([1, 10])
    return [large * 20 + small * 4, (small + large) * 12, bytes([251, 0, 13, 200, 8, 0])]


TARGETS = (Target("share", take_shares, shares, (), 4.0, 32 * MB, length_max=2 * STEPS_MAX),)
