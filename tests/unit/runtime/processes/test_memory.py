"""Settings of the process that are changed temporarily are restored."""

from __future__ import annotations

import gc
import platform
import subprocess
import sys
import weakref

import pytest

from rebalance_agent.runtime.processes import memory
from rebalance_agent.runtime.processes.memory import (
    LOCK_S,
    YOUNG_OBJECTS_MAX,
    YOUNG_RUNS_MAX,
    give_back,
    lock_passed_on_soon,
    look_at_all,
    older_objects_kept,
    tuned_memory,
)


def test_the_garbage_collectors_settings_are_restored():
    before, frozen = gc.get_threshold(), gc.get_freeze_count()
    with tuned_memory():
        assert gc.get_threshold()[0] == YOUNG_OBJECTS_MAX
        assert gc.get_freeze_count() > frozen
    assert (gc.get_threshold(), gc.get_freeze_count()) == (before, 0)


def test_the_time_for_which_a_thread_keeps_the_lock_is_restored():
    before = sys.getswitchinterval()
    with lock_passed_on_soon():
        assert sys.getswitchinterval() == LOCK_S
    assert sys.getswitchinterval() == before


def test_old_objects_are_left_out_of_later_runs_of_the_collector():
    before = gc.get_threshold(), list(gc.callbacks)
    with older_objects_kept():
        assert gc.get_threshold()[1] == YOUNG_RUNS_MAX
        kept = [[number] for number in range(1_000)]
        gc.collect(0)
        assert gc.get_freeze_count() == 0, "most of the newest die soon"
        gc.collect(1)
        assert not {id(each) for each in kept} & {id(each) for each in gc.get_objects()}
        assert gc.get_freeze_count() >= len(kept)
    assert ((gc.get_threshold(), gc.callbacks), gc.get_freeze_count()) == (before, 0)


def test_what_refers_to_itself_is_freed_also_among_old_objects():
    with older_objects_kept():
        circle = Circle()
        circle.itself, freed = circle, weakref.ref(circle)
        gc.collect(1)
        del circle
        gc.collect()
        assert freed() is not None
        look_at_all()
        assert freed() is None


class Circle:
    """Refers to itself."""


def test_settings_of_other_c_libraries_are_unchanged(monkeypatch):
    def nothing(_name):
        raise OSError("no such library")

    monkeypatch.setattr(memory.ctypes, "CDLL", nothing)
    give_back()
    with tuned_memory():
        pass


GROWING = """
from rebalance_agent.runtime.processes.memory import return_grown_blocks, tuned_memory

def resident():
    lines = open("/proc/self/status").read().splitlines()
    (line,) = (line.split() for line in lines if line.startswith("RssAnon:"))
    return int(line[1]) * 1024

with tuned_memory():
    return_grown_blocks()
    before, kept = resident(), []
    for _ in range(6):
        frames = [bytearray() for _ in range(60)]
        for step in range(60):
            for frame in frames:
                frame += bytes(16_384)
            kept.append(bytes(50_000))
        del frames, frame
    print(resident() - before - sum(map(len, kept)))
"""


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="other C libraries have no such setting")
def test_frames_that_grew_among_others_leave_few_gaps():
    """Without `return_grown_blocks`, 58 MB of gaps remain."""
    ended = subprocess.run([sys.executable, "-c", GROWING], capture_output=True, text=True, check=True, timeout=60)
    assert int(ended.stdout) < 40_000_000
