"""Clients' pushes go to the collector that the environment names, and a collector that fails costs nothing."""

from __future__ import annotations

import threading
from collections import Counter
from contextlib import contextmanager

import pytest
from structlog.testing import capture_logs

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.runtime.otlp import passed_telemetry as module
from rebalance_agent.runtime.otlp.configured_push import configured_passing
from rebalance_agent.runtime.otlp.otlp_environment import OtlpTarget, metrics_target
from rebalance_agent.runtime.otlp.passed_telemetry import PassedTelemetry
from support.otlp.collector import Collector
from support.telemetry.otlp import gauge, metrics_data

PUSHED = metrics_data(gauge("a", 1.5), group_id="orders")
ALL = "OTEL_EXPORTER_OTLP_ENDPOINT"


class Counts:
    def __init__(self):
        self._counts, self._changed = Counter(), threading.Condition()

    def __call__(self, outcome, number=1):
        with self._changed:
            self._counts[outcome] += number
            self._changed.notify_all()

    def wait_for(self, **counts):
        with self._changed:
            assert self._changed.wait_for(lambda: self._counts == counts, 30), self._counts


@contextmanager
def passing(url, **headers):
    counts = Counts()
    passed = PassedTelemetry(OtlpTarget(f"{url}/v1/metrics", headers, True, None), counts)
    passed.start()
    try:
        yield passed, counts
    finally:
        passed.stop()


def test_a_push_reaches_the_collector_with_the_headers_of_the_environment():
    with Collector() as collector, passing(collector.url, Authorization="Bearer x") as (passed, counts):
        passed.put(PUSHED, "a")
        counts.wait_for(delivered=1)
        assert collector.metrics().keys() == {"a"}
        assert collector.headers[0]["Authorization"] == "Bearer x"
        assert collector.headers[0]["Content-Type"] == "application/x-protobuf"


def test_failures_are_counted_and_logged_once_and_the_next_push_is_tried():
    with capture_logs() as logs, Collector(503, 503, 200) as collector, passing(collector.url) as (passed, counts):
        for _ in range(3):
            passed.put(PUSHED, "a")
        counts.wait_for(failed=2, delivered=1)
    names = [entry["event"] for entry in logs]
    assert names == ["telemetry_not_passed", "telemetry_passed_again"]
    assert logs[0]["reason"] == "the collector responded with 503"


def test_a_redirect_does_not_count_as_delivered():
    with capture_logs() as logs, Collector(307) as collector, passing(collector.url) as (passed, counts):
        passed.put(PUSHED, "a")
        counts.wait_for(failed=1)
    assert logs[0]["reason"] == "the collector responded with 307"


def test_the_oldest_of_too_many_are_dropped(monkeypatch):
    monkeypatch.setattr(module, "WAITING_BYTES_MAX", 3 * len(PUSHED))
    counts = Counts()
    passed = PassedTelemetry(OtlpTarget("http://127.0.0.1:1/", {}, True, None), counts)  # its thread does not run
    for _ in range(5):
        passed.put(PUSHED, "a")
    counts.wait_for(dropped=2)


def test_what_waits_is_delivered_at_the_end():
    with Collector() as collector:
        with passing(collector.url) as (passed, counts):
            passed.put(PUSHED, "a")
        counts.wait_for(delivered=1)


@pytest.mark.parametrize(
    ("environ", "url", "headers"),
    [
        ({ALL: "http://c:4318/"}, "http://c:4318/v1/metrics", {}),
        ({ALL: "http://c:4318", "OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": "http://m/x"}, "http://m/x", {}),
        ({ALL: "http://c", "OTEL_EXPORTER_OTLP_HEADERS": "a=b,c=d%20e"}, "http://c/v1/metrics", {"a": "b", "c": "d e"}),
    ],
)
def test_the_target_is_that_of_the_sdks_exporter(environ, url, headers):
    target = metrics_target(environ)
    assert (target.url, target.headers) == (url, headers)


def test_certificates_come_from_the_environment():
    tls = {"OTEL_EXPORTER_OTLP_CERTIFICATE": "ca", "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE": "c"}
    target = metrics_target({ALL: "https://c", **tls, "OTEL_EXPORTER_OTLP_CLIENT_KEY": "k"})
    assert (target.verify, target.certificate) == ("ca", ("c", "k"))


@pytest.mark.parametrize(
    ("url", "pushed", "reason"), [("", True, "set OTEL_"), ("http://c", False, "gateway_telemetry,")]
)
def test_without_an_endpoint_or_pushes_the_setting_is_an_error(monkeypatch, url, pushed, reason):
    monkeypatch.setenv(ALL, url)
    with pytest.raises(InvalidInputError, match=reason):
        configured_passing(Counts(), pushed=pushed)
