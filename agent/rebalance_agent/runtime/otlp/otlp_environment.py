"""Reads which signals the standard ``OTEL_*`` variables turn on. The SDK's exporters read the other variables.

https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ and .../protocol/exporter/
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from rebalance_agent.extras import install_text

__all__ = ["OtlpSignals", "OtlpTarget", "metrics_target", "otlp_signals"]

_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"

INTERVAL_DEFAULT_MS = 60_000
INTERVAL_MS = range(1_000, 24 * 3600 * 1000)
"""Milliseconds between exports of metrics: the specification's default, and the accepted range."""

_PACKAGES = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")


@dataclass(frozen=True, slots=True)
class OtlpSignals:
    """The signals to export. ``interval_seconds``: the time between two exports of metrics.

    ``problems``: one text for each variable that has no effect, with the variable's name and the reason.
    """

    metrics: bool = False
    traces: bool = False
    interval_seconds: float = INTERVAL_DEFAULT_MS / 1000
    problems: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class OtlpTarget:
    """The URL and headers of an OTLP endpoint, with ``verify`` and ``certificate`` (``cert``) as in ``requests``."""

    url: str
    headers: Mapping[str, str] = field(repr=False)
    verify: str | bool
    certificate: tuple[str, str] | str | None


def otlp_signals(environ: Mapping[str, str] | None = None) -> OtlpSignals:
    """Return the signals that the environment turns on: those with their own endpoint, or all if a common one is set.

    A value that cannot work, or a missing package, turns a signal off, as OpenTelemetry's specification requires: these
    variables are often set for all containers of a cluster, and must not keep a process from starting.
    """
    environ = os.environ if environ is None else environ
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return OtlpSignals()
    problems: list[str] = []
    metrics, traces = (_is_on(environ, signal, problems) for signal in ("METRICS", "TRACES"))
    if (metrics or traces) and not all(map(_installed, _PACKAGES)):
        variable = _endpoint_of(environ, "METRICS" if metrics else "TRACES")
        problems.append(f"{variable}: packages are missing; run {install_text('otel')}")
        metrics = traces = False
    interval = _interval_seconds(environ, problems) if metrics else INTERVAL_DEFAULT_MS / 1000
    return OtlpSignals(metrics, traces, interval, tuple(dict.fromkeys(problems)))


def metrics_target(environ: Mapping[str, str] | None = None) -> OtlpTarget:
    """Return the endpoint of metrics, for requests without the SDK's exporter. Call this only if metrics are on."""
    from opentelemetry.util.re import parse_env_headers  # noqa: PLC0415 - of an extra

    environ = os.environ if environ is None else environ

    def value(name: str, default: str = "") -> str:
        own = environ.get(f"OTEL_EXPORTER_OTLP_METRICS_{name}")
        return own or environ.get(f"OTEL_EXPORTER_OTLP_{name}") or default

    variable = _endpoint_of(environ, "METRICS")
    url = environ[variable] if variable != _ENDPOINT else f"{environ[_ENDPOINT].rstrip('/')}/v1/metrics"
    certificate, key = value("CLIENT_CERTIFICATE"), value("CLIENT_KEY")
    return OtlpTarget(
        url,
        dict(parse_env_headers(value("HEADERS"), liberal=True)),
        value("CERTIFICATE") or True,
        (certificate, key) if certificate and key else certificate or None,
    )


def _is_on(environ: Mapping[str, str], signal: str, problems: list[str]) -> bool:
    """Return whether ``signal`` is exported to an OTLP endpoint; add an unusable variable to ``problems``."""
    variable = _endpoint_of(environ, signal)
    url = environ.get(variable, "")
    exporter = environ.get(f"OTEL_{signal}_EXPORTER") or "otlp"
    protocols = (f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL")
    named = next((name for name in protocols if environ.get(name)), None)
    if not url or exporter == "none":
        return False
    if exporter != "otlp":
        problems.append(f"OTEL_{signal}_EXPORTER: must be otlp or none")
    elif not _usable(url):
        problems.append(f"{variable}: must be a URL such as http://collector:4318")
    elif named and environ[named] != "http/protobuf":
        problems.append(f"{named}: must be http/protobuf, the only supported protocol (usually on port 4318)")
    else:
        return True
    return False


def _usable(url: str) -> bool:
    try:
        parts = urlsplit(url)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        return False


def _endpoint_of(environ: Mapping[str, str], signal: str) -> str:
    """Return the variable with the endpoint of ``signal``: the signal's own if it is set, else the common variable."""
    own = f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"
    return own if environ.get(own) else _ENDPOINT


def _interval_seconds(environ: Mapping[str, str], problems: list[str]) -> float:
    text = environ.get("OTEL_METRIC_EXPORT_INTERVAL", "").strip() or str(INTERVAL_DEFAULT_MS)
    if text.isascii() and text.isdigit() and len(text) < len("1000000000") and int(text) in INTERVAL_MS:
        return int(text) / 1000
    limits = f"{INTERVAL_MS.start} to {INTERVAL_MS.stop - 1}"
    problems.append(f"OTEL_METRIC_EXPORT_INTERVAL: must be a whole number of milliseconds from {limits}")
    return INTERVAL_DEFAULT_MS / 1000


def _installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False
