"""Two clusters with events in the same tables have topics of equal name, and separate offsets."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rebalance_agent.pipeline.ingest import ingest_events as ingest
from rebalance_agent.pipeline.ingest.ingest_events import checkpoint_of

TABLES = SimpleNamespace(folder="s3a://bucket/tables")


def of(cluster_id, monkeypatch):
    monkeypatch.setattr(ingest, "Cluster", lambda _: SimpleNamespace(identify=lambda: (cluster_id, {})))
    return checkpoint_of(TABLES, {}, "rebalance-events")


def test_each_cluster_has_its_own(monkeypatch):
    found = {of(name, monkeypatch) for name in ("bwHjK5GfTQijoU_nyFb1ug", "xwHjK5GfTQijoU_nyFb1u-")}
    assert found == {
        "s3a://bucket/tables/_checkpoints/ingest-bwHjK5GfTQijoU_nyFb1ug-rebalance-events",
        "s3a://bucket/tables/_checkpoints/ingest-xwHjK5GfTQijoU_nyFb1u--rebalance-events",
    }


@pytest.mark.parametrize("name", ["../../elsewhere", "a:b", "a b*", ""])
def test_whatever_a_cluster_calls_itself_is_one_folder(name, monkeypatch):
    path = of(name, monkeypatch)
    assert path.startswith("s3a://bucket/tables/_checkpoints/ingest-")
    assert not set(path.removeprefix("s3a://bucket/tables/_checkpoints/")) & set("/:.* ")
