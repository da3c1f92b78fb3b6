"""A sidecar whose cluster does not answer."""

from __future__ import annotations

import json

import pytest
from structlog.testing import capture_logs

from rebalance_agent.errors import ClusterError
from rebalance_agent.runtime.processes import sidecar
from rebalance_agent.runtime.settings.roles import SidecarSettings
from support.observer.observing import eventually, running
from support.observer.sidecars import Sidecar as Receiver
from support.observer.views import member_event

EVENTS = 3
LOST = 'rebalance_agent_events_dropped_total{where="agent"}'


class Silent:
    """A cluster that never answers."""

    def __init__(self, _properties):
        pass

    def identify(self):
        raise ClusterError("no broker answers")


@pytest.fixture
def stopped(monkeypatch):
    monkeypatch.setattr(sidecar, "Cluster", Silent)

    def run(**settings):
        """The sidecar's metrics and its report of lost events, after it accepted events and was stopped."""
        usual = {"listen": "127.0.0.1:0", "events_listen": "127.0.0.1:0", "stop_seconds": 60}
        role = sidecar.Sidecar(SidecarSettings(**usual, **settings), {"bootstrap.servers": "127.0.0.1:1"})
        with capture_logs() as logs:
            with running(role) as watched:
                eventually(lambda: watched.parts().get("cluster") == "no broker answers")
                role.accept([member_event()] * EVENTS, 0)
            lost = [(log["events"], log["sink"]) for log in logs if log["event"] == "events_lost_at_stop"]
        samples = (line for line in role._metrics.text().decode().splitlines() if not line.startswith("#"))
        return {name: float(value) for name, _, value in (line.rpartition(" ") for line in samples)}, lost

    return run


def test_lost_events_for_kafka_only_are_counted_and_reported(stopped):
    metrics, lost = stopped()
    assert metrics[LOST] == EVENTS
    assert lost == [(EVENTS, "kafka")]


def test_a_file_and_a_webhook_get_events_without_kafka(stopped, tmp_path):
    file = tmp_path / "events.ndjson"
    with Receiver() as receiver:
        metrics, lost = stopped(events_file=str(file), events_webhook=receiver.url)
        assert len(receiver.taken) == EVENTS
    assert [json.loads(line)["kind"] for line in file.read_text().splitlines()] == ["member"] * EVENTS
    for sink in ("file", "webhook"):
        assert metrics[f'rebalance_agent_events_published_total{{kind="member",sink="{sink}"}}'] == EVENTS
    assert metrics[LOST] == EVENTS
    assert lost == [(EVENTS, "kafka")]


def test_a_file_gets_events_while_the_cluster_is_awaited(monkeypatch, tmp_path):
    monkeypatch.setattr(sidecar, "Cluster", Silent)
    monkeypatch.setattr(sidecar, "NAMELESS_S", 0.1)
    file = tmp_path / "events.ndjson"
    usual = {"listen": "127.0.0.1:0", "events_listen": "127.0.0.1:0", "events_file": str(file)}
    role = sidecar.Sidecar(SidecarSettings(**usual), {"bootstrap.servers": "127.0.0.1:1"})
    with running(role):
        role.accept([member_event()] * EVENTS, 0)
        eventually(lambda: len(file.read_text().splitlines()) == EVENTS)
        role.accept([member_event()] * EVENTS, 0)
        eventually(lambda: len(file.read_text().splitlines()) == 2 * EVENTS)


def test_no_event_is_lost_if_none_is_for_kafka(stopped, tmp_path):
    file = tmp_path / "events.ndjson"
    metrics, lost = stopped(events_topic="", events_file=str(file))
    assert len(file.read_text().splitlines()) == EVENTS
    assert not metrics.get(LOST)
    assert lost == []
