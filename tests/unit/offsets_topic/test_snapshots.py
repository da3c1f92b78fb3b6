"""The conditions under which snapshots are used."""

from __future__ import annotations

import logging
from types import SimpleNamespace

import pytest

from rebalance_agent.errors import AccessDeniedError, ClusterError
from rebalance_agent.offsets_topic.snapshots import reader as module
from rebalance_agent.offsets_topic.snapshots.codec import (
    VERSION,
    Digest,
    Marker,
    SnapshotAssembly,
    marker_key,
    marker_value,
)
from rebalance_agent.offsets_topic.snapshots.reader import TOMBSTONES_KEPT_MS, UNREADABLE_MAX_S, SnapshotReader
from support.observer.fakes import fake_context
from support.observer.snapshots import FakeCluster


@pytest.mark.parametrize(
    ("age_ms", "end", "used"),
    [
        (TOMBSTONES_KEPT_MS, 20, True),
        (TOMBSTONES_KEPT_MS + 1, 20, False),
        (TOMBSTONES_KEPT_MS + 1, 10, True),  # nothing was written since then
        (0, 9, False),
    ],
)
def test_a_snapshot_that_may_lack_tombstones_is_not_used(monkeypatch, age_ms, end, used):
    context = fake_context(FakeCluster())
    marker = SimpleNamespace(made_from="here", position=10, written_ms=context.clock.now_ms() - age_ms, series=1)
    assembly = SimpleNamespace(keys=lambda _: frozenset(), marker=lambda _: marker, records=lambda *_: ())
    reader = SnapshotReader(context, "state", b"owner")
    monkeypatch.setattr(reader, "_read", lambda _partitions: assembly)
    assert (0 in reader.load({0: (5, end)}, "here")) is used
    assert context.meters.of("snapshot_problem") == ([] if used else [("out_of_range",)])


class Short:
    """A cluster whose offsets topic keeps tombstones for a second, or that refuses to describe the topic."""

    def __init__(self, refused=False):
        self.refused = refused

    def topic_setting(self, topic, name):
        assert (topic, name) == ("__consumer_offsets", "delete.retention.ms")
        if self.refused:
            raise ClusterError("denied")
        return "1000"


@pytest.mark.parametrize(
    ("refused", "age_ms", "used"), [(False, 1_000, True), (False, 1_001, False), (True, 1_001, True)]
)
def test_the_retention_of_tombstones_is_read_from_the_topics_config(monkeypatch, refused, age_ms, used):
    context = fake_context(Short(refused))
    marker = SimpleNamespace(made_from="here", position=10, written_ms=context.clock.now_ms() - age_ms, series=1)
    assembly = SimpleNamespace(keys=lambda _: frozenset(), marker=lambda _: marker, records=lambda *_: ())
    reader = SnapshotReader(context, "state", b"owner")
    monkeypatch.setattr(reader, "_read", lambda _partitions: assembly)
    assert (0 in reader.load({0: (5, 20)}, "here")) is used


def test_a_snapshot_of_an_older_version_is_counted_and_its_replacement_logged(monkeypatch, caplog):
    context = fake_context(FakeCluster())
    older = Marker(VERSION - 1, 1, 10, 0, Digest().text, context.clock.now_ms(), "here")
    assembly = SnapshotAssembly(b"owner", [0])
    assembly.add(marker_key(b"owner", 0), marker_value(older))
    reader = SnapshotReader(context, "state", b"owner")
    monkeypatch.setattr(reader, "_read", lambda _partitions: assembly)
    with caplog.at_level(logging.WARNING):
        assert reader.load({0: (0, 20)}, "here") == {}
    assert context.meters.of("snapshot_problem") == [("malformed",)]
    (line,) = caplog.messages
    assert f"has version {VERSION - 1}, not {VERSION}; the offsets topic is read instead" in line


def test_keys_of_waiting_partitions_are_kept_while_others_are_loaded(monkeypatch):
    assembly = SimpleNamespace(keys=lambda partition: frozenset({b"%d" % partition}), marker=lambda _: None)
    reader = SnapshotReader(fake_context(FakeCluster()), "state", b"owner")
    monkeypatch.setattr(reader, "_read", lambda _partitions: assembly)
    reader.load({0: (0, 9)}, "here")
    reader.load({1: (0, 9)}, "here")
    assert reader.kept == {0: {b"0"}, 1: {b"1"}}
    monkeypatch.setattr(reader, "_read", lambda _partitions: None)
    reader.load({1: (0, 9)}, "here")
    assert reader.kept == {0: {b"0"}}


def _failing(error):
    def read(_partitions):
        raise error

    return read


def test_requests_to_unreachable_brokers_are_repeated_before_the_snapshot_is_given_up(monkeypatch):
    context = fake_context(FakeCluster())
    reader = SnapshotReader(context, "state", b"owner")
    monkeypatch.setattr(reader, "_read", _failing(ClusterError("restarting")))
    for _ in range(2):  # at the next outage the full timeout applies again
        for _ in range(2):
            with pytest.raises(ClusterError, match="restarting"):
                reader.load({0: (0, 9)}, "here")
            context.clock.advance(round(UNREADABLE_MAX_S * 1000) // 2)
        assert reader.load({0: (0, 9)}, "here") == {}
    assert context.meters.of("snapshot_problem") == [("unreadable",)] * 2


def test_without_the_right_to_read_snapshots_loading_returns_none_at_once(monkeypatch):
    context = fake_context(FakeCluster())
    reader = SnapshotReader(context, "state", b"owner")
    monkeypatch.setattr(reader, "_read", _failing(AccessDeniedError("no")))
    assert reader.load({0: (0, 9)}, "here") == {}
    assert context.meters.of("snapshot_problem") == [("unreadable",)]


class _SilentReader:
    """The topic's leader fails after it has returned the end offset."""

    topic = "state"

    def __init__(self, clock):
        self.positions, self._clock = {}, clock

    def __enter__(self):
        return self

    def __exit__(self, *_exc):
        pass

    def partitions(self):
        return 1

    def begin(self, _offsets):
        self.positions = {0: 0}

    def read(self, _most, timeout):
        self._clock.advance(round(timeout * 1000))
        return []


def test_brokers_that_stop_answering_during_a_snapshot_raise_a_cluster_error(monkeypatch):
    context = fake_context(cluster=SimpleNamespace(end_offsets=lambda _topic, numbers: dict.fromkeys(numbers, 9)))
    monkeypatch.setattr(module, "TopicReader", lambda *_: _SilentReader(context.clock))
    with pytest.raises(ClusterError, match="no record arrived"):
        SnapshotReader(context, "state", b"owner").load({0: (0, 9)}, "here")
    assert context.meters.of("snapshot_problem") == []
