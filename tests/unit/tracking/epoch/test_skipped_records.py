"""Nothing is concluded across skipped records of an epoch group, nor across a fall of its epoch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.epoch_groups import GroupEpoch, TargetEpoch
from rebalance_agent.tracking.observations import EpochRecord
from support.tracker.epochs import current, fact, gone, group_of_two, joins, target
from support.tracker.tracking import closing, tick, watch


@pytest.mark.parametrize(("skipped", "trigger"), [(0, Trigger.REJOIN), (3, Trigger.UNKNOWN)])
def test_an_epoch_after_skipped_records_has_no_known_cause(skipped, trigger):
    _, events = watch(
        *group_of_two(),
        tick(60_000),
        replace(fact(70_000, GroupEpoch(5)), skipped=skipped),
        target(70_010, "a", 1),
        target(70_010, "b", 0),
        fact(70_020, TargetEpoch(5)),
        current(70_100, "a", 5, (1,)),
        current(70_200, "b", 5, (0,)),
        tick(140_000),
    )
    last = closing(events)[-1]
    assert (last.generation, last.trigger) == (5, trigger)


def recreated(at, *, members=True):
    """Epoch 1 of another group with the same name; the tombstones of the former one are not known."""
    assigned = (current(at + 100, "a", 1, (1,)), current(at + 200, "b", 1, (0,))) if members else ()
    return (
        fact(at, GroupEpoch(1)),
        target(at + 10, "a", 1),
        target(at + 10, "b", 0),
        fact(at + 20, TargetEpoch(1)),
        *assigned,
    )


EMPTIED = (*gone(60_000, "a"), *gone(60_000, "b"), fact(60_000, GroupEpoch(5)), fact(60_000, TargetEpoch(5)))
JOINED = (joins(70_000, "a"), joins(70_000, "b"))


@pytest.mark.parametrize("live", [True, False], ids=["new", "from before the start"])
@pytest.mark.parametrize("between", [(), (tick(65_000),), (*EMPTIED, *JOINED)], ids=["unsettled", "settled", "empty"])
def test_an_epoch_that_falls_back_starts_another_group_whose_episode_is_its_own(live, between):
    group = [replace(each, live=live) if isinstance(each, EpochRecord) else each for each in group_of_two()]
    order = group if live else [*group[1:], group[0]]
    at = 70_000 if between else 1_500
    _, events = watch(*order, *between, *recreated(at), tick(140_000))
    last = closing(events)[-1]
    assert (last.generation, last.episode_generation, last.previous_generation) == (1, 1, None)
    assert (last.trigger, last.moved, last.followups) == (Trigger.GROUP_STARTED, 0, 0)
    if live and between == ():
        assert [event.generation for event in closing(events)] == [2, 1]
