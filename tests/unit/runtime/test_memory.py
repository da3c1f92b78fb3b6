"""What is turned for a process of ours is as it was afterwards."""

from __future__ import annotations

import gc

from rebalance_agent.runtime.memory import YOUNG_OBJECTS_MAX, all_ours


def test_the_collector_is_as_before_at_the_end():
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    with all_ours():
        assert gc.get_threshold()[0] == YOUNG_OBJECTS_MAX
        assert gc.get_freeze_count() > frozen
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)
