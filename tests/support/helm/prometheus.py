"""The scrape targets of a PodMonitor, as the Prometheus operator would create them.

The operator needs a Prometheus with discovery of pods, which Debian's build does not have. So this module applies the
selectors, and Prometheus gets the addresses.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

__all__ = ["targets"]


def targets(monitor: dict[str, Any], pods: Iterable[dict[str, Any]]) -> Iterator[str]:
    """``host:port`` for each port of running pods in the PodMonitor, including init containers."""
    spec = monitor["spec"]
    ports = {endpoint["port"] for endpoint in spec["podMetricsEndpoints"]}
    for pod in pods:
        if _selected(spec, pod["metadata"]) and pod["status"]["phase"] == "Running":
            for container in (*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]):
                for port in container.get("ports", ()):
                    if port.get("name") in ports:
                        yield f"{pod['status']['podIP']}:{port['containerPort']}"


def _selected(spec: dict[str, Any], metadata: dict[str, Any]) -> bool:
    where = spec["namespaceSelector"]
    here = where.get("any") or metadata["namespace"] in where["matchNames"]
    return here and spec["selector"]["matchLabels"].items() <= metadata.get("labels", {}).items()
