import pytest

from rebalance_agent.extras import install_text
from rebalance_agent.runtime.otlp import otlp_environment
from rebalance_agent.runtime.otlp.otlp_environment import otlp_signals

URL = "http://collector:4318"
ALL = "OTEL_EXPORTER_OTLP_ENDPOINT"


def on(**environ):
    signals = otlp_signals(environ)
    return signals.metrics, signals.traces


@pytest.mark.parametrize(
    ("environ", "expected"),
    [
        ({}, (False, False)),
        ({ALL: ""}, (False, False)),
        ({ALL: URL}, (True, True)),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": URL}, (False, True)),
        ({"OTEL_EXPORTER_OTLP_METRICS_ENDPOINT": URL + "/v1/metrics"}, (True, False)),
        ({ALL: URL, "OTEL_METRICS_EXPORTER": "none"}, (False, True)),
        ({ALL: URL, "OTEL_TRACES_EXPORTER": "otlp"}, (True, True)),
        ({ALL: URL, "OTEL_SDK_DISABLED": "True"}, (False, False)),
        ({ALL: URL, "OTEL_SDK_DISABLED": "no"}, (True, True)),
        ({ALL: URL, "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"}, (True, True)),
    ],
)
def test_a_signal_is_on_if_it_has_an_endpoint(environ, expected):
    assert on(**environ) == expected


@pytest.mark.parametrize(
    ("environ", "field", "problem"),
    [
        ({ALL: "collector:4318"}, ALL, "URL such as"),
        ({ALL: "http://"}, ALL, "URL such as"),
        ({ALL: "http://c:x"}, ALL, "URL such as"),
        ({ALL: "grpc://c:4317"}, ALL, "URL such as"),
        ({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "c"}, "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "URL such as"),
        ({ALL: URL, "OTEL_EXPORTER_OTLP_PROTOCOL": "grpc"}, "OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf"),
        (
            {ALL: URL, "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/protobuf"},
            "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL",
            "http/protobuf",
        ),
        ({ALL: URL, "OTEL_TRACES_EXPORTER": "zipkin"}, "OTEL_TRACES_EXPORTER", "otlp or none"),
        (
            {ALL: URL, "OTEL_METRIC_EXPORT_INTERVAL": "soon"},
            "OTEL_METRIC_EXPORT_INTERVAL",
            "must be a whole number of milliseconds from 1000 to 86399999",
        ),
        (
            {ALL: URL, "OTEL_METRIC_EXPORT_INTERVAL": "10"},
            "OTEL_METRIC_EXPORT_INTERVAL",
            "must be a whole number of milliseconds from 1000 to 86399999",
        ),
        (
            {ALL: URL, "OTEL_METRIC_EXPORT_INTERVAL": "9" * 5_000},
            "OTEL_METRIC_EXPORT_INTERVAL",
            "must be a whole number of milliseconds from 1000 to 86399999",
        ),
    ],
)
def test_an_unusable_variable_has_no_effect_and_is_named(environ, field, problem):
    signals = otlp_signals(environ)
    (text,) = signals.problems
    assert text.startswith(f"{field}: ")
    assert problem in text
    if field == "OTEL_METRIC_EXPORT_INTERVAL":
        assert (signals.metrics, signals.traces, signals.interval_seconds) == (True, True, 60)
    else:
        assert not (signals.metrics and signals.traces)


def test_one_signal_works_without_the_other():
    assert on(**{ALL: URL, "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc"}) == (False, True)
    assert otlp_signals({ALL: URL, "OTEL_EXPORTER_OTLP_METRICS_PROTOCOL": "grpc"}).problems != ()


def test_a_disabled_signal_has_no_problems():
    assert otlp_signals({ALL: "nonsense", "OTEL_SDK_DISABLED": "true"}).problems == ()
    assert otlp_signals({"OTEL_METRIC_EXPORT_INTERVAL": "soon"}).problems == ()


def test_the_interval_is_in_milliseconds():
    assert otlp_signals({ALL: URL, "OTEL_METRIC_EXPORT_INTERVAL": "1500"}).interval_seconds == 1.5
    assert otlp_signals({ALL: URL}).interval_seconds == 60


def test_without_the_extra_otlp_is_off_and_names_the_packages_to_install(monkeypatch):
    monkeypatch.setattr(otlp_environment, "_PACKAGES", ("no_such_package.sdk",))
    signals = otlp_signals({ALL: URL})
    assert (signals.metrics, signals.traces) == (False, False)
    problem = f"{ALL}: packages are missing; run {install_text('otel')}"
    assert signals.problems == (problem,)
    assert otlp_signals({}).problems == ()
