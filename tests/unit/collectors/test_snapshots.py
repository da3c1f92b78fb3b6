"""Which snapshots can be built on."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rebalance_agent.collectors.snapshots import TOMBSTONES_KEPT_MS, SnapshotReader
from support.fakes import fake_context


@pytest.mark.parametrize(
    ("age_ms", "end", "used"),
    [
        (TOMBSTONES_KEPT_MS, 20, True),
        (TOMBSTONES_KEPT_MS + 1, 20, False),
        (TOMBSTONES_KEPT_MS + 1, 10, True),  # nothing was written since then
        (0, 9, False),
    ],
)
def test_a_snapshot_that_may_miss_tombstones_is_not_built_on(monkeypatch, age_ms, end, used):
    context = fake_context()
    marker = SimpleNamespace(made_from="here", position=10, written_ms=context.clock.now_ms() - age_ms, series=1)
    assembly = SimpleNamespace(keys=lambda _: frozenset(), marker=lambda _: marker, records=lambda *_: ())
    reader = SnapshotReader(context, "state", b"owner")
    monkeypatch.setattr(reader, "_read", lambda _partitions: assembly)
    assert (0 in reader.load({0: (5, end)}, "here")) is used
    assert context.meters.of("snapshot_problem") == ([] if used else [("out_of_range",)])


def test_keys_of_partitions_that_wait_to_begin_are_kept_while_others_are_loaded(monkeypatch):
    assembly = SimpleNamespace(keys=lambda partition: frozenset({b"%d" % partition}), marker=lambda _: None)
    reader = SnapshotReader(fake_context(), "state", b"owner")
    monkeypatch.setattr(reader, "_read", lambda _partitions: assembly)
    reader.load({0: (0, 9)}, "here")
    reader.load({1: (0, 9)}, "here")
    assert reader.kept == {0: {b"0"}, 1: {b"1"}}
    monkeypatch.setattr(reader, "_read", lambda _partitions: None)
    reader.load({1: (0, 9)}, "here")
    assert reader.kept == {0: {b"0"}}
