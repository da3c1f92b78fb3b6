"""The kinds of ends of a stream."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from chaos.processes import stream as module
from chaos.processes.stream import Stream


@pytest.mark.parametrize(("alive", "killed_after", "ended"), [(True, [7], 0), (False, [], 1)])
def test_a_process_that_had_ended_does_not_count_as_killed(monkeypatch, tmp_path, alive, killed_after, ended):
    monkeypatch.setattr(module, "commits", lambda _: 7)
    done, stream = [], Stream("", "", tmp_path)
    stream._ingest = SimpleNamespace(alive=lambda: alive, kill=lambda: done.append("killed"))
    stream.kill()
    assert (stream._killed_after, stream._ended, done) == (killed_after, ended, ["killed"])
