"""Settings of the process that are changed temporarily are restored."""

from __future__ import annotations

import gc

from rebalance_agent.runtime.processes import memory
from rebalance_agent.runtime.processes.memory import YOUNG_OBJECTS_MAX, give_back, tuned_memory


def test_the_garbage_collectors_settings_are_restored():
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    with tuned_memory():
        assert gc.get_threshold()[0] == YOUNG_OBJECTS_MAX
        assert gc.get_freeze_count() > frozen
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)


def test_settings_of_other_c_libraries_are_unchanged(monkeypatch):
    def nothing(_name):
        raise OSError("no such library")

    monkeypatch.setattr(memory.ctypes, "CDLL", nothing)
    give_back()
    with tuned_memory():
        pass
