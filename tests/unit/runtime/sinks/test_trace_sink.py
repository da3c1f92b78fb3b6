import threading
from contextlib import ExitStack

import pytest

from rebalance_agent.clock import SystemClock
from rebalance_agent.cluster.backoff import Backoff
from rebalance_agent.http.health import Readiness
from rebalance_agent.metrics.export.agent_metrics import AgentMetrics
from rebalance_agent.metrics.export.parsed_text import parsed_samples
from rebalance_agent.metrics.metric import ExporterRole
from rebalance_agent.model.episode import Evidence, Phases
from rebalance_agent.model.event_json import json_line
from rebalance_agent.model.events import Callback
from rebalance_agent.runtime.settings.roles import SidecarSettings
from rebalance_agent.runtime.sinks.configured_sinks import SinkSet
from rebalance_agent.runtime.sinks.queued_sink import DeliveryError, QueuedSink
from rebalance_agent.runtime.sinks.trace_sink import SPANS_MAX, TraceSink
from rebalance_agent.traces.event_traces import EventTraces
from support.observer.fakes import generation_event
from support.observer.views import NOW, assign_event, member_event
from support.otlp.collector import Collector, attributes_of

PHASES = Phases(NOW + 5_000, Evidence.RECORD, NOW, Evidence.LIST, NOW + 4_000, Evidence.RECORD)


def generation(number=3, **fields):
    fields = {"cluster_id": "c", "group": "orders", "phases": PHASES, "episode_generation": number, **fields}
    return generation_event(generation=number, previous_generation=number - 1, **fields)


EVENTS = (
    member_event(Callback.REVOKED, 1, generation=2, cluster_id="c", event_id="1" * 32),
    assign_event(2, generation=3, cluster_id="c", event_id="2" * 32),
    member_event(Callback.ASSIGNED, 3, generation=3, cluster_id="c", event_id="3" * 32, error="ValueError: no"),
    generation(),
    generation(4, episode_generation=3),
)


@pytest.fixture
def endpoint(monkeypatch):
    def use(collector):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.5")

    return use


def sink():
    return TraceSink(backoff=lambda: Backoff(first_s=0.01, max_s=0.02))


def deliver(target, events, given_up=None):
    target.deliver([json_line(event) for event in events], given_up or threading.Event())


def test_the_collector_gets_the_spans_of_the_events(endpoint):
    with Collector() as collector:
        endpoint(collector)
        deliver(sink(), EVENTS)
    traces = EventTraces()
    expected = [span for event in EVENTS for span in traces.spans(event)]
    received = collector.spans()
    assert [(span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex(), span.name) for span in received] == [
        (span.trace_id, span.span_id, span.parent_id or "", span.name) for span in expected
    ]
    for span, one in zip(received, expected, strict=True):
        assert (span.start_time_unix_nano, span.end_time_unix_nano) == (one.start_ms * 10**6, one.end_ms * 10**6)
        assert attributes_of(span) == {
            name: list(value) if isinstance(value, tuple) else value for name, value in one.attributes.items()
        }
        assert (span.status.code, span.status.message) == ((2, one.error) if one.error else (0, ""))
        assert [(link.trace_id.hex(), link.span_id.hex()) for link in span.links] == [
            (link.trace_id, link.span_id) for link in one.links
        ]
    assert {span.status.code for span in received} == {0, 2}
    assert any(span.links for span in received)
    assert collector.resources()[0]["service.name"] == "kafka-rebalance-agent"


def test_many_spans_are_sent_in_several_requests(endpoint):
    with Collector() as collector:
        endpoint(collector)
        deliver(sink(), [generation(number) for number in range(SPANS_MAX)])
    assert len(collector.requests) == 3
    assert len(collector.spans()) == 3 * SPANS_MAX
    assert len({span.span_id for span in collector.spans()}) == 3 * SPANS_MAX


def test_an_outage_of_the_collector_loses_and_duplicates_no_span(endpoint):
    with Collector() as gone:
        endpoint(gone)
        port = gone.port
    target = sink()
    sending = threading.Thread(target=deliver, args=[target, EVENTS])
    sending.start()
    with Collector(503, 429, port=port) as collector:
        sending.join(60)
        assert not sending.is_alive()
    ids = [span.span_id for span in collector.spans()]
    assert len(ids) == len(set(ids))
    assert len(ids) == 10


def test_spans_refused_by_the_collector_are_not_repeated(endpoint):
    with Collector(400) as collector:
        endpoint(collector)
        with pytest.raises(DeliveryError, match="responded with 400"):
            deliver(sink(), EVENTS)
        deliver(sink(), EVENTS[-1:])
    assert len(collector.requests) == 1


def test_a_redirect_does_not_count_as_delivered(endpoint):
    with Collector(307) as collector:
        endpoint(collector)
        with pytest.raises(DeliveryError, match="responded with 307"):
            deliver(sink(), EVENTS)
    assert collector.requests == []


def test_a_cancelled_sink_ends(endpoint):
    with Collector() as gone:
        endpoint(gone)
    given_up = threading.Event()
    given_up.set()
    with pytest.raises(DeliveryError, match=r"refused|timeout"):
        deliver(sink(), EVENTS, given_up)


def test_events_without_spans_cause_no_request(endpoint):
    with Collector() as collector:
        endpoint(collector)
        deliver(sink(), EVENTS[:1])
        deliver(sink(), [generation(revision=1)])
    assert collector.headers == []


def counted(counts, name):
    return {
        tuple(sample.labels.values()): sample.value
        for sample in parsed_samples(counts.text().decode())
        if sample.name == f"rebalance_agent_{name}_total" and sample.value
    }


def test_without_a_collector_the_queue_is_bounded_and_drops_are_counted(endpoint, monkeypatch):
    monkeypatch.setattr("rebalance_agent.runtime.sinks.queued_sink.QUEUE_MAX", 10)
    with Collector() as gone:
        endpoint(gone)
    counts = AgentMetrics(ExporterRole.OBSERVER, Readiness(), configured=True)
    queued = QueuedSink("otlp", sink(), counts)
    for number in range(100):
        queued.publish(generation(number), "c")
    queued.start()
    queued.close(0.0)
    assert counted(counts, "events_dropped") == {("otlp",): 100}


def test_spans_that_wait_for_a_collector_are_sent_at_stop_if_it_has_come_back(endpoint):
    with Collector() as gone:
        endpoint(gone)
        port = gone.port
    paused = threading.Event()

    class Long(Backoff):
        def next(self):
            paused.set()
            return 600.0

    counts = AgentMetrics(ExporterRole.OBSERVER, Readiness(), configured=True)
    queued = QueuedSink("otlp", TraceSink(backoff=lambda: Long(600.0, 600.0)), counts)
    for event in EVENTS:
        queued.publish(event, "c")
    queued.start()
    assert paused.wait(30)
    with Collector(port=port) as collector:
        queued.close(30.0)
    assert len(collector.spans()) == 10
    assert counted(counts, "events_dropped") == {}


def test_the_environment_adds_the_sink_to_every_role(endpoint):
    counts = AgentMetrics(ExporterRole.SIDECAR, Readiness(), configured=False)
    with Collector() as collector:
        endpoint(collector)
        sinks = SinkSet(SidecarSettings(), counts, SystemClock())
        assert sinks.local
        with ExitStack() as stack:
            fanout = sinks.open(stack)
            for event in EVENTS:
                fanout.publish(event, "c")
    assert len(collector.spans()) == 10
    assert counted(counts, "events_published") == {
        ("member", "otlp"): 2,
        ("assign", "otlp"): 1,
        ("generation", "otlp"): 2,
    }
