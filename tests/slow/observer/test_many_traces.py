"""A hundred rebalances as traces of an observer, a sidecar and a gateway that share nothing but the group."""

from __future__ import annotations

import uuid
from collections import Counter

import pytest

from rebalance_agent.traces.span import ROOT, trace_id
from support.gateway.gatewaying import gatewaying
from support.members.instrumented import Member
from support.observer.observing import beside, create_topic, events, eventually, observing
from support.observer.sidecars import SilentSidecar
from support.otlp.collector import Collector, attributes_of

pytestmark = [
    pytest.mark.integration,
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning"),  # importing kafka-python warns
]

JOINS = 50
"""Each is followed by a departure: together, they are a hundred rebalances."""

PATIENCE_S = 300


def test_a_dead_and_a_silent_collector_cost_no_rebalance_and_no_span(kafka, monkeypatch):
    """The collector is away for a third of the time, accepts without a response for another, and then works."""
    bootstrap, unique = kafka.bootstrap_servers, uuid.uuid4().hex[:8]
    topic, group, published = f"topic-{unique}", f"group-{unique}", f"events-{unique}"
    create_topic(bootstrap, topic, 4)
    with Collector() as gone:
        port = gone.port
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{port}")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "1")
    monkeypatch.setenv("OTEL_METRIC_EXPORT_INTERVAL", "1000")

    def generations():
        """Each generation once; only the observer writes to this topic."""
        found = (each for each in events(bootstrap, published, group=group) if each["kind"] == "generation")
        return {each["generation"]: each for each in found}

    with (
        observing(bootstrap, events_topic=published, settle_seconds=1, stop_seconds=20) as observer,
        beside(bootstrap, events_topic=f"{published}-sidecar", stop_seconds=20) as sidecar,
        gatewaying(bootstrap, events_topic=f"{published}-gateway", stop_seconds=20) as through,
    ):
        url = f"http://127.0.0.1:{sidecar.role.events_port}"

        def members():
            return observer.metric("kafka_rebalance_members", consumergroup=group)

        def joins(number):
            for _ in range(number):
                second = Member(through.bootstrap, group, topic, url)
                eventually(lambda: members() == 2, PATIENCE_S)
                second.close()
                eventually(lambda: members() == 1, PATIENCE_S)

        first = Member(through.bootstrap, group, topic, url)
        eventually(lambda: members() == 1, PATIENCE_S)
        joins(JOINS // 3)
        with SilentSidecar(port=port):
            joins(JOINS // 3)
            seen = observer.metric("kafka_rebalance_generation", consumergroup=group)
            eventually(lambda: max(generations(), default=0) >= seen, PATIENCE_S)  # without any collector
        with Collector(port=port) as collector:
            joins(JOINS - 2 * (JOINS // 3))
            first.close()
            eventually(lambda: any(not each["members"] for each in generations().values()), PATIENCE_S)
            known = generations()
            assert len(known) >= 2 * JOINS
            expected = {number: trace_id(each["cluster_id"], group, number) for number, each in known.items()}

            def traces(name, *evidences):
                spans = [span for span in collector.spans() if span.name == name]
                of_group = [(span, attributes_of(span)) for span in spans]
                return Counter(
                    span.trace_id.hex()
                    for span, attributes in of_group
                    if attributes.get("messaging.consumer.group.name") == group
                    and (not evidences or attributes.get("kafka.rebalance.evidence") in evidences)
                )

            roots = Counter(expected.values())
            eventually(lambda: traces(ROOT) == roots, PATIENCE_S, waiting_for=lambda: roots - traces(ROOT))
            assigned = {expected[number] for number, each in known.items() if each["members"]}
            for evidence in (None, "gateway"):
                eventually(lambda: traces("assigned", evidence).keys() == assigned, PATIENCE_S)  # noqa: B023
        for role in (observer, sidecar, through):
            assert role.metric("rebalance_agent_events_dropped_total", where="otlp") == 0
