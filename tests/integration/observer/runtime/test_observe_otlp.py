"""Metrics and traces of a real group reach a collector, from an observer and a sidecar on their own."""

from __future__ import annotations

import uuid
from collections import Counter

import pytest

from rebalance_agent.traces.span import ROOT, span_id, trace_id
from support.members.instrumented import Member
from support.observer.observing import beside, create_topic, events, eventually, observing
from support.otlp.collector import Collector, attributes_of

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning"),  # importing kafka-python warns
]


def test_each_generation_is_one_trace_of_observer_and_sidecar_also_if_the_collector_was_away(kafka, monkeypatch):
    bootstrap, unique = kafka.bootstrap_servers, uuid.uuid4().hex[:8]
    topic, group, published = f"topic-{unique}", f"group-{unique}", f"events-{unique}"
    create_topic(bootstrap, topic, 4)
    with Collector() as gone:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", gone.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
        monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "1000")
        port = gone.port

    def generations():
        return [each for each in events(bootstrap, published, group=group) if each["kind"] == "generation"]

    with (
        observing(bootstrap, events_topic=published, settle_seconds=1, stop_seconds=20) as observer,
        beside(bootstrap, events_topic=published, stop_seconds=20) as sidecar,
    ):
        url = f"http://127.0.0.1:{sidecar.role.events_port}"
        first = Member(bootstrap, group, topic, url)
        eventually(lambda: observer.metric("kafka_rebalance_partitions_unassigned", consumergroup=group) == 0)
        second = Member(bootstrap, group, topic, url)
        eventually(lambda: any(len(each["members"]) == 2 for each in generations()))
        with Collector(port=port) as collector:
            second.close()
            first.close()
            eventually(lambda: any(not each["members"] for each in generations()))

            def of_group():
                return [
                    span
                    for span in collector.spans()
                    if attributes_of(span).get("messaging.consumer.group.name") == group
                ]

            def roots():
                return Counter(span.trace_id.hex() for span in of_group() if span.name == ROOT)

            published_once = {each["event_id"]: each for each in generations()}.values()
            expected = Counter(trace_id(each["cluster_id"], group, each["generation"]) for each in published_once)
            eventually(lambda: roots() == expected)
            eventually(lambda: "kafka_rebalance_members" in collector.metrics())
            eventually(lambda: "kafka_rebalance_member_callback_seconds" in collector.metrics())

            def callbacks(name):
                reported = {
                    each["event_id"]
                    for each in events(bootstrap, published, group=group)
                    if each.get("callback") == name
                }
                return len(reported), sum(span.name == name for span in of_group())

            for name in ("assigned", "left"):
                eventually(lambda: callbacks(name)[0] == callbacks(name)[1] > 0)  # noqa: B023
    assigned = [span for span in of_group() if span.name == "assigned"]
    members = [span for span in of_group() if span.name == "member"]
    assert assigned
    assert {span.trace_id.hex() for span in assigned} <= set(expected)
    assert all(span.parent_span_id.hex() == span_id(span.trace_id.hex(), ROOT) for span in members)
    names = {span.name for span in of_group()}
    assert {"rebalance", "join", "sync", "member", "revoked", "assigned", "left", "assignor"} <= names
    identities = [(span.span_id, span.trace_id) for span in of_group()]
    assert len(set(identities)) == len(identities)
