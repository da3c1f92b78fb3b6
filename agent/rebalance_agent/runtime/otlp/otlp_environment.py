"""What the standard ``OTEL_*`` variables turn on. The exporters of the SDK read the others themselves.

https://opentelemetry.io/docs/specs/otel/configuration/sdk-environment-variables/ and .../protocol/exporter/
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import urlsplit

from rebalance_agent.errors import InvalidInputError

__all__ = ["ENDPOINT", "OtlpSignals", "otlp_signals"]

ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"

INTERVAL_DEFAULT_MS = 60_000
INTERVAL_MS = range(1_000, 24 * 3600 * 1000)
"""Milliseconds between exports of metrics: the specification's default, and what is accepted."""

_PACKAGES = ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http")


@dataclass(frozen=True, slots=True)
class OtlpSignals:
    """The signals that are exported; ``interval_seconds`` are between two exports of metrics."""

    metrics: bool
    traces: bool
    interval_seconds: float = INTERVAL_DEFAULT_MS / 1000


def otlp_signals(environ: Mapping[str, str] | None = None) -> OtlpSignals:
    """What the environment turns on: each signal for which there is an endpoint, its own or that of all signals.

    Raises:
        InvalidInputError: a variable has a value that cannot work, or OpenTelemetry's packages are not installed.
    """
    environ = os.environ if environ is None else environ
    disabled = environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true"
    metrics, traces = (not disabled and _is_on(environ, signal) for signal in ("METRICS", "TRACES"))
    if (metrics or traces) and not all(map(_installed, _PACKAGES)):
        problem = "needs packages that are not installed: pip install 'kafka-rebalance-agent[otel]'"
        raise InvalidInputError(_endpoint_of(environ, "METRICS" if metrics else "TRACES"), problem)
    return OtlpSignals(metrics, traces, _interval_seconds(environ))


def _is_on(environ: Mapping[str, str], signal: str) -> bool:
    """Whether ``signal`` has an endpoint, and no variable selects another exporter or none."""
    variable = _endpoint_of(environ, signal)
    url = environ.get(variable, "")
    exporter = environ.get(f"OTEL_{signal}_EXPORTER") or "otlp"
    if exporter not in ("otlp", "none"):
        raise InvalidInputError(f"OTEL_{signal}_EXPORTER", "must be otlp or none")
    if not url or exporter == "none":
        return False
    try:
        parts = urlsplit(url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise InvalidInputError(variable, "must be a URL such as http://collector:4318")
    for name in (f"OTEL_EXPORTER_OTLP_{signal}_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"):
        if protocol := environ.get(name):
            if protocol != "http/protobuf":
                raise InvalidInputError(name, "must be http/protobuf, the only supported protocol (port 4318 usually)")
            break
    return True


def _endpoint_of(environ: Mapping[str, str], signal: str) -> str:
    """The variable that has the endpoint of ``signal``: its own where that is set."""
    own = f"OTEL_EXPORTER_OTLP_{signal}_ENDPOINT"
    return own if environ.get(own) else ENDPOINT


def _interval_seconds(environ: Mapping[str, str]) -> float:
    text = environ.get("OTEL_METRIC_EXPORT_INTERVAL", "").strip() or str(INTERVAL_DEFAULT_MS)
    if not (text.isascii() and text.isdigit() and len(text) < len("1000000000") and int(text) in INTERVAL_MS):
        problem = f"must be whole milliseconds from {INTERVAL_MS.start} to {INTERVAL_MS.stop - 1}"
        raise InvalidInputError("OTEL_METRIC_EXPORT_INTERVAL", problem)
    return int(text) / 1000


def _installed(package: str) -> bool:
    try:
        return importlib.util.find_spec(package) is not None
    except ModuleNotFoundError:
        return False
