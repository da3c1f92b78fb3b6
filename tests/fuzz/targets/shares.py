"""Floods of several groups: at the tail, and of what the tracker keeps of groups, commits and reports.

At the tail, a flooding group waits, in order and within bounds, and others do not. The tracker keeps no more than its
budgets allow, and a group that it knew before the flood stays shown.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

from bench.synthetic import group_key, group_value

from fuzz.target import MB, Target
from rebalance_agent.groupprotocol.consumer_protocol import encode_assignment, encode_subscription
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.subscription import ConsumerAssignment, ConsumerSubscription
from rebalance_agent.offsets_topic.emit import ObservationEmitter
from rebalance_agent.offsets_topic.group_records import GroupRecords
from rebalance_agent.offsets_topic.work_share import set_aside, work_budget
from rebalance_agent.tracking.evidence import kept_reports
from rebalance_agent.tracking.evidence.commits import commit_times, last_commits
from rebalance_agent.tracking.memory.state_budget import COMMITTING_MS, NEW_GROUPS_UP_TO
from rebalance_agent.tracking.tracker import Tracker
from support.observer.fakes import FakeRecord, fake_context
from support.tracker.tracking import assigned, committed, feed, member, record, tick, tombstone, topics

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
    with _bounds({(set_aside, "KEY_RECORDS_MAX"): WAITING_MAX, (work_budget, "ASSIGNED_S"): ASSIGNED_S}):
        _flood(data)


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


STATE_BYTES = 60_000
"""Budget of the states of all groups: that of the known group, and a few others."""

COMMITS_MAX, COMMITTED_GROUPS_MAX, AWAITED_MAX = 60, 4, 80
REPORTS_MAX, GROUP_REPORTS_MAX = 20_000, 8_000
"""Small bounds, so that a few steps exceed them."""

KNOWN = "known"
SIZES = (1, 2, 8, 30)
"""Partitions of a generation, of a commit or of a report."""

FLOOD_STEPS_MAX, NAMES = 60, 16
LARGEST = 40_000
"""No less than the bytes of the state that one step adds: 30 partitions, and their awaited commits."""


def take_budgets(data):
    """Each two bytes are a step: what a group does and how large it is, and the group and the time since the last."""
    with _bounds({
        (last_commits, "PARTITIONS_MAX"): COMMITS_MAX,
        (last_commits, "GROUPS_MAX"): COMMITTED_GROUPS_MAX,
        (commit_times, "AWAITED_MAX"): AWAITED_MAX,
        (kept_reports, "GROUP_BYTES_MAX"): GROUP_REPORTS_MAX,
    }):  # fmt: skip
        _fill(data)


def _fill(data):
    tracker, at = Tracker("cluster", state_bytes_max=STATE_BYTES), 1_000
    tracker._context.report_budget.left = REPORTS_MAX
    feed(tracker, topics(0, t=30), record(0, 1, member("a", (0, 1)), group=KNOWN), commits=False)
    last = 1
    for what, which in zip(data[: 2 * FLOOD_STEPS_MAX : 2], data[1 : 2 * FLOOD_STEPS_MAX : 2], strict=False):
        at += (which // NAMES) ** 4
        name, partitions = f"g{which % NAMES}", range(SIZES[what // 8 % 4])
        before = tracker.state_budget.size_bytes
        step = what % 8
        if step == 7:  # the known group rebalances, and does not grow
            last += 1
            done = [record(at, last, member("ab"[last % 2], (0, 1)), group=KNOWN)]
        else:
            old = what < 128 and tracker._groups.get(name) is None  # the first of a group's records may be from before
            done = _step(step, name, at, partitions, live=not old)
        for event in feed(tracker, *done, commits=False):
            json_line(event)
        _within_budgets(tracker, before)
        assert tracker.view(KNOWN).generation == last, "a group that was known before the flood stays shown"


def _step(step, name, at, partitions, *, live):
    if step < 3:
        return [record(at, at, member(f"m{step}", partitions), group=name, live=live)]
    if step == 3:
        return [committed(at, *partitions, group=name)]
    if step == 4:
        return [assigned(f"m{at % 5}", at, at, at, partitions, group=name)]
    return [tombstone(at, name)] if step == 5 else [tick(at)]


def _within_budgets(tracker, before):
    context, budget = tracker._context, tracker.state_budget
    states = {state.group: state for state in tracker._groups}
    assert budget._sizes.keys() == states.keys()
    # Commits take effect on a group's size at its next record.
    assert all(budget._sizes[name] >= state.size_bytes for name, state in states.items())
    assert budget.size_bytes == sum(budget._sizes.values())
    if not any(context.commits.span_ms(name) >= COMMITTING_MS for name in states):
        # A generation that is no larger than the last one is taken beside it.
        most = 2 * NEW_GROUPS_UP_TO * STATE_BYTES + LARGEST
        assert budget.size_bytes <= max(most, before), "groups that do not commit stay within the budget"
    kept = context.commits._last
    rows = sum(len(block) // last_commits._ROW_BYTES for block in kept._blocks.values())
    assert rows == kept._rows == sum(group.rows for group in kept._groups.values()) <= COMMITS_MAX
    assert len(kept._groups) <= COMMITTED_GROUPS_MAX
    awaited = context.commits._awaited
    assert sum(map(len, context.commits._keys.values())) == len(awaited) <= AWAITED_MAX
    reports = [state.history.reports._kept for state in states.values()]
    assert context.report_budget.left + sum(each._bytes for each in reports) == REPORTS_MAX
    assert context.report_budget.left >= 0
    assert all(each._bytes <= GROUP_REPORTS_MAX for each in reports)


@contextmanager
def _bounds(bounds: dict[tuple[object, str], int]) -> Iterator[None]:
    """Use these bounds of modules in the block."""
    usual = {(module, name): getattr(module, name) for module, name in bounds}
    try:
        for (module, name), value in bounds.items():
            setattr(module, name, value)
        yield
    finally:
        for (module, name), value in usual.items():
            setattr(module, name, value)


def budgets():
    known = bytes([7, 9])
    old, flood, again, small = (
        b"".join(bytes([what, group]) for group in range(NAMES)) for what in (24, 128 + 24, 128 + 25, 128 + 8)
    )
    commits = b"".join(bytes([3 + 8 * size, 5 * NAMES + group]) for size in range(4) for group in range(8))
    reports = b"".join(bytes([4 + 24, 3 * NAMES + number % 3]) for number in range(20))
    return [flood + known + again, small + again, old + flood, commits + flood, reports + known + flood + b"\5\1\6\xfa"]


def shares():
    large, small = bytes([12, 10]), bytes([1, 10])
    return [large * 20 + small * 4, (small + large) * 12, bytes([251, 0, 13, 200, 8, 0])]


TARGETS = (
    Target("share", take_shares, shares, (), 4.0, 32 * MB, length_max=2 * STEPS_MAX),
    Target("budget", take_budgets, budgets, (), 4.0, 32 * MB, length_max=2 * FLOOD_STEPS_MAX),
)
