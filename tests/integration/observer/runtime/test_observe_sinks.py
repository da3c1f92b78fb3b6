"""The observer's events outside Kafka, and the links from metrics to them, on the session's broker."""

from __future__ import annotations

import json
import urllib.request
import uuid

import pytest
from confluent_kafka.admin import AdminClient
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from rebalance_agent.model.event_json import json_line
from rebalance_agent.traces.span import trace_id
from support.observer.observing import beside, create_topic, events, eventually, members, observing
from support.observer.sidecars import Sidecar, SilentSidecar
from support.observer.views import member_event

pytestmark = pytest.mark.integration


@pytest.fixture
def names():
    """A topic, a group and a topic of events for this test only."""
    unique = uuid.uuid4().hex[:8]
    return f"topic-{unique}", f"group-{unique}", f"events-{unique}"


def _openmetrics(watched):
    request = urllib.request.Request(
        f"http://127.0.0.1:{watched.role.port}/metrics", headers={"Accept": "application/openmetrics-text"}
    )
    with urllib.request.urlopen(request, timeout=10) as answer:
        return list(text_string_to_metric_families(answer.read().decode()))


def _exemplars(watched, group):
    return {
        (sample.exemplar.labels["event_id"], sample.exemplar.labels["trace_id"])
        for family in _openmetrics(watched)
        if family.name == "kafka_rebalance_stall_seconds"
        for sample in family.samples
        if sample.exemplar and sample.labels["consumergroup"] == group
    }


def test_every_event_reaches_kafka_the_file_and_the_webhook_and_exemplars_name_some(kafka, names, tmp_path):
    bootstrap, (topic, group, published) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 4)
    file = tmp_path / "events.ndjson"
    only = {"groups_allow": group, "settle_seconds": 0.2}
    with Sidecar(503) as webhook:
        sinks = {"events_topic": published, "events_file": str(file), "events_webhook": webhook.url}
        with observing(bootstrap, **only, **sinks) as watched:
            completed = lambda: len(_exemplars(watched, group)) >= 1  # noqa: E731
            with members(bootstrap, group, topic, 2):
                eventually(completed)
            named = _exemplars(watched, group)
            arrived = lambda sink: watched.metric(  # noqa: E731
                "rebalance_agent_events_published_total", kind="generation", sink=sink
            )
            eventually(lambda: arrived("kafka") >= 1 and arrived("kafka") == arrived("file") == arrived("webhook"))
            assert watched.metric("rebalance_agent_events_dropped_total", where="webhook") == 0
        in_file = [json.loads(line) for line in file.read_text().splitlines()]
        assert in_file == webhook.taken
    in_topic = events(bootstrap, published, group=group)
    assert sorted(each["event_id"] for each in in_topic) == sorted(each["event_id"] for each in in_file)
    closing = [each for each in in_file if each["kind"] == "generation" and each["closes_episode"]]
    assert named <= {(each["event_id"], trace_id(each["cluster_id"], group, each["generation"])) for each in closing}


def test_a_read_only_observer_creates_no_topic_and_its_file_has_the_events(kafka, names, tmp_path):
    bootstrap, (topic, group, published) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 4)
    file, snapshots = tmp_path / "events.ndjson", f"{published}-state"
    where = {"events_topic": published, "state_topic": snapshots, "events_file": str(file)}
    with observing(bootstrap, read_only=True, groups_allow=group, settle_seconds=0.2, **where) as watched:
        with members(bootstrap, group, topic):
            eventually(lambda: watched.metric("rebalance_agent_events_published_total", kind="generation", sink="file"))
        assert watched.role._sinks.publisher is None
    assert (
        not {published, snapshots} & AdminClient({"bootstrap.servers": bootstrap}).list_topics(timeout=10).topics.keys()
    )


def test_a_hanging_webhook_delays_neither_the_file_nor_the_end(tmp_path):
    file = tmp_path / "events.ndjson"
    with SilentSidecar() as webhook:
        where = {"events_file": str(file), "events_webhook": webhook.url, "stop_seconds": 0.5}
        with beside(None, **where) as sidecar:
            event = member_event()
            sidecar.role.accept([event], 0)
            eventually(
                lambda: sidecar.metric("rebalance_agent_events_published_total", kind="member", sink="file") == 1
            )
            assert webhook.accepted.wait(30)
        assert file.read_bytes() == json_line(event) + b"\n"
        assert b'rebalance_agent_events_dropped_total{where="webhook"} 1.0\n' in sidecar.role._metrics.text()
