"""Faults come when they are meant to, and are over when they are."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from chaos.faults import MOMENT, inflict
from chaos.timetable import Fault


class Watched:
    """An observer whose lives read the past, or never get so far; what is done is a word each."""

    def __init__(self, *, reads):
        self.done = []
        self.start = lambda: self.done.append("started")
        self.life = SimpleNamespace(
            kill=lambda: self.done.append("killed"), reads_past=lambda: self._past(reads), ready=lambda: False
        )

    def _past(self, reads):
        self.done.append("reads" if reads else "waited")
        return reads


@pytest.mark.parametrize("reads", [True, False])
def test_an_agent_is_killed_twice_amid_the_past_and_not_before(reads):
    observer = Watched(reads=reads)
    stage = SimpleNamespace(observer=observer, wait=observer.done.append)
    inflict(stage, Fault(0.0, "agent killed while it starts", 2.0, 1))
    amid = ["started", "reads" if reads else "waited", 2.0 * MOMENT if reads else 0, "killed"]
    assert observer.done == ["killed", *amid, *amid, "started"]
