from dataclasses import replace

import pytest

from rebalance_agent.exposition.api_drawing import draw_summary
from rebalance_agent.exposition.page.trouble import SKEWED, Level, Trouble, trouble
from rebalance_agent.model.episode import Basis, Stall
from rebalance_agent.model.group import GroupState
from rebalance_agent.rebalances.views import RunningRebalance
from support.views import NOW, full_view

WELL = draw_summary(full_view(running=None))


def judged(hour=0, now_ms=NOW, **changes):
    return trouble(replace(WELL, **changes), hour, now_ms)


def test_a_calm_group_is_well():
    assert judged() == Trouble()


@pytest.mark.parametrize(
    ("changes", "hour", "level", "word"),
    [
        ({"running": RunningRebalance(NOW - 30_000, 6)}, 0, Level.LOOK, "rebalances, 6 partitions still"),
        (
            {"running": RunningRebalance(NOW - 30_001, 1)},
            0,
            Level.HURTS,
            "rebalances for more than 30\u00a0s, 1 part",
        ),
        ({"unassigned": 1}, 0, Level.HURTS, "1 partition without an owner"),
        ({"members": 0, "unassigned": 6, "state": GroupState.EMPTY}, 0, Level.WELL, "nobody consumes"),
        ({}, 6, Level.WELL, ""),
        ({}, 7, Level.HURTS, "storm: 7 rebalances in an hour"),
        ({"members": 6}, 12, Level.WELL, ""),
        ({"members": 6}, 13, Level.HURTS, "storm: 13"),
        ({"skew_ratio": SKEWED}, 0, Level.WELL, ""),
        ({"skew_ratio": 1.6}, 0, Level.LOOK, "1.6\u00d7 its share"),
        ({"skew_ratio": None}, 0, Level.WELL, ""),
    ],
)
def test_what_hurts_is_named(changes, hour, level, word):
    found = judged(hour, **changes)
    assert found.level is level
    assert word in "; ".join(found.why)
    assert bool(found.why) is bool(word)


def test_a_long_stall_is_told_for_an_hour_and_by_what_is_certain():
    last = replace(WELL.last, stall=Stall(14.0, 14.0, 80.0, Basis.EXACT))
    assert judged(last=last).why == ("stood still for 14\u00a0s",)
    assert judged(last=last, now_ms=last.timestamp_ms + 3_600_000) == Trouble()
    assert judged(last=replace(last, stall=Stall(60.0, 4.9, 80.0, Basis.BOUND))) == Trouble()


def test_the_worst_of_several_decides_and_all_are_told():
    found = judged(9, unassigned=2, skew_ratio=2.0)
    assert (found.level, found.weight) == (Level.HURTS, 900)
    assert [each.split()[0] for each in found.why] == ["2", "storm:", "the"]
