"""Describes this process as an OpenTelemetry resource."""

from __future__ import annotations

import os
import uuid
from collections.abc import Mapping

from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from rebalance_agent import __version__

__all__ = ["SCOPE", "process_resource"]

SCOPE = InstrumentationScope("rebalance_agent", __version__)

_UNNAMED = "unknown_service"
"""The beginning of the name that the SDK gives to a process without ``OTEL_SERVICE_NAME``."""

_INSTANCE = str(uuid.uuid4())


def process_resource(environ: Mapping[str, str] | None = None) -> Resource:
    """Return the service's name, version and instance, and the pod and node if known, as a resource.

    ``OTEL_RESOURCE_ATTRIBUTES`` overrides all of them. ``environ`` has ``POD_NAME`` and ``NODE_NAME``, which the chart
    sets.
    """
    environ = os.environ if environ is None else environ
    detected = dict(Resource.create().attributes)
    if str(detected.get("service.name", _UNNAMED)).startswith(_UNNAMED):
        detected["service.name"] = "kafka-rebalance-agent"
    defaults = {
        "service.version": __version__,
        "service.instance.id": _INSTANCE,
        "messaging.system": "kafka",
        "k8s.pod.name": environ.get("POD_NAME", ""),
        "k8s.node.name": environ.get("NODE_NAME", ""),
    }
    return Resource({name: value for name, value in defaults.items() if value} | detected)
