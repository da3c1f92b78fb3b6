import logging
import sys

import pytest

from rebalance_agent.clock import FakeClock
from rebalance_agent.http.health import Readiness
from rebalance_agent.metrics.catalogue import BY_NAME
from rebalance_agent.metrics.export.agent_metrics import AgentMetrics
from rebalance_agent.metrics.export.dialects import Dialect
from rebalance_agent.metrics.export.groups_page import GroupsPage
from rebalance_agent.metrics.export.member_metrics import MemberMetrics
from rebalance_agent.metrics.export.parsed_text import parsed_samples
from rebalance_agent.metrics.metric import ExporterRole, MetricType
from rebalance_agent.runtime.otlp import otlp_points
from rebalance_agent.runtime.otlp.configured_push import configured_push
from support.observer.views import NOW, full_view, member_event
from support.otlp.collector import Collector, attributes_of

CLOCK = FakeClock(NOW)


@pytest.fixture
def collector(monkeypatch):
    with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "5")
        yield collector


@pytest.fixture
def counts():
    return AgentMetrics(ExporterRole.OBSERVER, Readiness(), configured=True)


def pushed(pages, counts):
    push = configured_push(pages, counts, CLOCK)
    assert push.export()
    push.start()
    push.stop()


def exports(counts):
    samples = parsed_samples(counts.text().decode())
    return {
        sample.labels["outcome"]: sample.value
        for sample in samples
        if sample.name == "rebalance_agent_otlp_exports_total"
    }


def test_the_collector_gets_every_series_with_its_value(collector, counts):
    page = GroupsPage(lambda: (full_view(),), CLOCK)
    pushed([page.pieces], counts)
    expected = list(parsed_samples(page.text().decode()))
    received = collector.metrics()
    assert {sample.name for sample in expected if sample.name in BY_NAME} == {
        name for name in received if BY_NAME[name].kind is not MetricType.HISTOGRAM
    }
    for name, (kind, points) in received.items():
        row = BY_NAME[name]
        if row.kind is MetricType.HISTOGRAM:
            continue
        assert kind == ("sum" if row.kind is MetricType.COUNTER else "gauge")
        labels = [{key: value for key, value in attributes_of(point).items() if "." not in key} for point in points]
        assert [(name, each, point.as_double) for each, point in zip(labels, points, strict=True)] == [
            tuple(sample) for sample in expected if sample.name == name
        ]
        assert {point.time_unix_nano for point in points} == {NOW * 1_000_000}


def test_a_histogram_has_the_buckets_of_the_catalogue_and_the_counts_of_each(collector, counts):
    counts.polled("list", 0.003, NOW)
    counts.polled("list", 0.003, NOW)
    counts.polled("list", 10_000.0, NOW)
    pushed([counts.text], counts)
    kind, points = collector.metrics()["rebalance_agent_poll_duration_seconds"]
    (point,) = (point for point in points if attributes_of(point)["poll"] == "list")
    buckets = BY_NAME["rebalance_agent_poll_duration_seconds"].buckets
    assert kind == "histogram"
    assert tuple(point.explicit_bounds) == buckets
    assert (point.count, sum(point.bucket_counts), point.bucket_counts[-1]) == (3, 3, 1)
    assert point.bucket_counts[next(index for index, bound in enumerate(buckets) if bound >= 0.003)] == 2
    assert point.sum == pytest.approx(10_000.006)
    assert not point.HasField("max")


def test_labels_also_have_the_attributes_of_the_conventions(collector, counts):
    page = GroupsPage(lambda: (full_view(),), CLOCK)
    pushed([page.pieces], counts)
    _, points = collector.metrics()["kafka_rebalance_members"]
    assert attributes_of(points[0]) == {"consumergroup": "orders", "messaging.consumer.group.name": "orders"}


def test_the_process_is_a_resource_which_the_environment_overrides(collector, counts, monkeypatch):
    monkeypatch.setenv("POD_NAME", "observer-0")
    monkeypatch.setenv("OTEL_RESOURCE_ATTRIBUTES", "k8s.namespace.name=kafka,service.version=mine")
    pushed([counts.text], counts)
    resource = collector.resources()[0]
    assert resource["service.name"] == "kafka-rebalance-agent"
    assert (resource["k8s.pod.name"], resource["k8s.namespace.name"]) == ("observer-0", "kafka")
    assert (resource["service.version"], resource["messaging.system"]) == ("mine", "kafka")
    monkeypatch.setenv("OTEL_SERVICE_NAME", "rebalances")
    pushed([counts.text], counts)
    assert collector.resources()[-1]["service.name"] == "rebalances"


def test_the_headers_of_the_environment_are_sent(collector, counts, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=secret")
    pushed([counts.text], counts)
    assert collector.headers[0]["authorization"] == "secret"


def test_many_points_are_sent_in_several_requests(collector, counts, monkeypatch):
    page = GroupsPage(lambda: (full_view(),), CLOCK)
    pushed([page.pieces], counts)
    whole = {name: len(points) for name, (_, points) in collector.metrics().items()}
    first = len(collector.requests)
    monkeypatch.setattr(otlp_points, "POINTS_MAX", 3)
    monkeypatch.setattr("rebalance_agent.runtime.otlp.metrics_push.POINTS_MAX", 3)
    push = configured_push([page.pieces], counts, CLOCK)
    assert push.export()
    parts = collector.requests[first:]
    assert len(parts) > 10
    received = {}
    for request in parts:
        for metric in request.resource_metrics[0].scope_metrics[0].metrics:
            points = getattr(metric, metric.WhichOneof("data")).data_points
            assert len(points) <= 3
            received[metric.name] = received.get(metric.name, 0) + len(points)
    assert received == whole


@pytest.mark.parametrize("status", [307, 400])
def test_a_failed_export_is_counted_and_the_next_one_is_complete(collector, counts, status):
    push = configured_push([counts.text], counts, CLOCK)
    collector.statuses = [status]
    assert not push.export()
    assert push.export()
    assert exports(counts) == {"accepted": 1, "failed": 1}
    _, points = collector.metrics()["rebalance_agent_otlp_exports_total"]
    assert {attributes_of(point)["outcome"]: point.as_double for point in points} == {"accepted": 0, "failed": 1}


def test_a_page_that_raises_does_not_end_the_exports(collector, counts):
    def broken(_dialect):
        raise RuntimeError("broken")

    push = configured_push([counts.text, broken], counts, CLOCK)
    assert not push.export()
    assert exports(counts)["failed"] == 1


def test_an_unreachable_collector_delays_nothing_and_is_logged_once(counts, monkeypatch, capsys):
    with Collector() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.url)
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2")
    libraries = logging.StreamHandler(sys.stdout)
    logging.getLogger().addHandler(libraries)
    push = configured_push([counts.text], counts, CLOCK)
    assert not push.export()
    assert not push.export()
    push.start()
    push.stop()  # without a last export
    assert exports(counts) == {"accepted": 0, "failed": 2}
    logging.getLogger().removeHandler(libraries)
    (line,) = capsys.readouterr().out.splitlines()
    assert "otlp_metrics_not_exported" in line


def test_without_an_endpoint_nothing_is_pushed(counts, monkeypatch):
    monkeypatch.delenv("OTEL_EXPORTER_OTLP_ENDPOINT", raising=False)
    push = configured_push([counts.text], counts, CLOCK)
    push.start()
    push.stop()
    assert exports(counts) == {"accepted": 0, "failed": 0}


def test_pushes_and_scrapes_each_get_a_new_series_at_zero_first():
    members = MemberMetrics(CLOCK)
    members.observe([member_event()])

    def counted(dialect):
        samples = parsed_samples(members.text(dialect).decode())
        return sum(sample.value for sample in samples if sample.name == "kafka_rebalance_member_callback_seconds_count")

    assert [counted(Dialect.PUSHED), counted(Dialect.PUSHED)] == [0, 1]
    assert [counted(Dialect.PROMETHEUS), counted(Dialect.PROMETHEUS)] == [0, 1]
