"""Two clusters with events in the same tables have topics with the same name, and separate offsets."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from rebalance_agent.pipeline.ingest import ingest_events as ingest
from rebalance_agent.pipeline.ingest.ingest_events import checkpoint_of

TABLES = SimpleNamespace(folder="s3a://bucket/tables")


def of(cluster_id, monkeypatch):
    monkeypatch.setattr(ingest, "Cluster", lambda _: SimpleNamespace(identify=lambda: (cluster_id, {})))
    return checkpoint_of(TABLES, {}, "rebalance-events")


def test_each_cluster_has_its_own_checkpoint(monkeypatch):
    found = {of(name, monkeypatch) for name in ("bwHjK5GfTQijoU_nyFb1ug", "xwHjK5GfTQijoU_nyFb1u-")}
    assert found == {
        "s3a://bucket/tables/_checkpoints/ingest-bwHjK5GfTQijoU_nyFb1ug-rebalance-events",
        "s3a://bucket/tables/_checkpoints/ingest-xwHjK5GfTQijoU_nyFb1u--rebalance-events",
    }


@pytest.mark.parametrize("name", ["../../elsewhere", "a:b", "a b*", ""])
def test_every_cluster_id_becomes_one_folder_name(name, monkeypatch):
    path = of(name, monkeypatch)
    assert path.startswith("s3a://bucket/tables/_checkpoints/ingest-")
    assert not set(path.removeprefix("s3a://bucket/tables/_checkpoints/")) & set("/:.* ")
