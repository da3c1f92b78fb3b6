"""Records of groups whose coordinator assigns: their work counts by the partitions in them."""

from __future__ import annotations

import pytest

from rebalance_agent.model.epoch_groups import CurrentAssignment, GroupEpoch, MemberState, MemberTarget
from rebalance_agent.offsets_topic.work_share.work_budget import ASSIGNED_S, BURST_S, GROUP_RATE, TARGET_S, part_seconds
from support.tracker.emitted_records import RecordReader, epoch_record
from support.tracker.epochs import ID, current, target

SOME, FEW = {"t": tuple(range(1_000))}, {"u": (0, 1)}


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        (CurrentAssignment(2, 1, MemberState.STABLE, SOME), 1_000 * ASSIGNED_S),
        (CurrentAssignment(2, 1, MemberState.UNREVOKED, FEW, SOME), 1_002 * ASSIGNED_S),
        (CurrentAssignment(2, 1, MemberState.STABLE, {}, {}, SOME, FEW), 1_002 * ASSIGNED_S),
        (MemberTarget(SOME, FEW, SOME), 2_002 * TARGET_S),
        (GroupEpoch(2), 0.0),
        (None, 0.0),
    ],
)
def test_each_partition_and_task_of_an_assignment_counts(value, seconds):
    assert part_seconds(value, 4_000) - part_seconds(None, 4_000) == pytest.approx(seconds)


@pytest.mark.parametrize("partitions", [3_900, 50_000])
def test_a_group_with_many_partitions_has_its_share_and_others_never_wait(partitions):
    """A member gets other partitions in each record; the records are below or above the size of large ones."""
    reader = RecordReader()
    reader.emitter.share.know(epoch_record(current(0, "m", 1), "orders")[0])
    owned = [range(first, 2 * partitions, 2) for first in (0, 1)]
    batches = [
        [
            epoch_record(current(0, "a", 2, own)),
            epoch_record(target(0, "a", *own)),
            epoch_record(current(0, "m", 2, (0,)), "orders"),
        ]
        for own in owned
    ]
    seconds, found = 10, []
    for step in range(10 * seconds):
        reader.context.clock.advance(100)
        found += reader.read(*batches[step % 2])
    assert sum(record.group == "orders" for record in found) == 10 * seconds, "the others never wait"
    assigned = [len(record.value.assigned[ID]) for record in found if record.group == "hostile" and _is_current(record)]
    one_record = ASSIGNED_S * partitions
    assert 0 < ASSIGNED_S * sum(assigned) <= seconds * GROUP_RATE + BURST_S + one_record
    assert reader.emitter.share.named() == ["hostile"]


def _is_current(record):
    return record.kind is CurrentAssignment
