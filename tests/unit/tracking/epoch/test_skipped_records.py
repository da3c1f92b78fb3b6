"""Nothing is concluded across skipped records of an epoch group, nor across a fall of its epoch."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rebalance_agent.model.episode import Trigger
from rebalance_agent.model.epoch_groups import GroupEpoch, TargetEpoch
from support.tracker.epochs import current, fact, group_of_two, target
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


def test_an_epoch_that_falls_back_starts_another_group_whose_episode_is_its_own():
    _, events = watch(
        *group_of_two(),
        fact(70_000, GroupEpoch(1)),
        target(70_010, "a", 1),
        target(70_010, "b", 0),
        fact(70_020, TargetEpoch(1)),
        current(70_100, "a", 1, (1,)),
        current(70_200, "b", 1, (0,)),
        tick(140_000),
    )
    last = closing(events)[-1]
    assert (last.generation, last.episode_generation, last.previous_generation) == (1, 1, None)
    assert (last.trigger, last.moved, last.followups) == (Trigger.GROUP_STARTED, 0, 0)
