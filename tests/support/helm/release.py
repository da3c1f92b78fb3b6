"""Installs the chart on the node, with an image of the node."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from support.cluster.consumers import samples
from support.cluster.node import Node

__all__ = ["CHART", "IMAGE", "PIPELINE_IMAGE", "Release"]

CHART = Path(__file__).parents[3] / "helm" / "rebalance-agent"
IMAGE = "lab.local/rebalance-agent:dev"
PIPELINE_IMAGE = "lab.local/rebalance-agent-pipeline:dev"

PORT = 29308


@dataclass(frozen=True)
class Release:
    """A release ``name`` in ``namespace`` whose observer watches ``bootstrap``; ``flags`` are for helm.

    Its objects have the same name if the name contains `rebalance-agent`, or with `fullnameOverride` in the flags.
    """

    node: Node
    bootstrap: str
    name: str = "rebalance-agent"
    namespace: str = "monitoring"
    flags: tuple[str, ...] = ()

    def install(self, *more: str, chart: Path = CHART) -> str:
        """Install it and wait until it is ready; return helm's output."""
        return self.begin("--wait", "--timeout=240s", *more, chart=chart)

    def begin(self, *more: str, chart: Path = CHART) -> str:
        """Install it without waiting; return helm's output."""
        repository, _, tag = IMAGE.partition(":")
        values = {"image.repository": repository, "image.tag": tag, "kafka.bootstrapServers": self.bootstrap}
        chosen = [f"--set-string={name}={value}" for name, value in values.items()]
        return self.helm("install", self.name, str(chart), "--create-namespace", *chosen, *self.flags, *more)

    def deployment(self) -> Any:
        """The observer's Deployment."""
        return self.node.get("deployment", self.name, "--namespace", self.namespace)

    def helm(self, *arguments: str) -> str:
        """Run helm in the release's namespace."""
        return self.node.plane.helm(*arguments, "--namespace", self.namespace)

    @property
    def address(self) -> str:
        """``host:port`` of the observer's Service, which needs kube-proxy."""
        service = self.node.get("service", self.name, "--namespace", self.namespace)
        return f"{service['spec']['clusterIP']}:{PORT}"

    def completed(self, group: str, *triggers: str) -> float:
        """Completed rebalances of a group with these triggers; without triggers all of them."""
        found = samples(self.address, "kafka_rebalance_completed_total", consumergroup=group)
        wanted = [f'trigger="{trigger}"' for trigger in triggers] or [""]
        return sum(count for series, count in found.items() if any(pair in series for pair in wanted))

    def objects(self) -> set[str]:
        """All objects in the cluster with the release's label."""
        kinds = self.node.plane.kubectl("api-resources", "--verbs=list,delete", "--output=name").split()
        wanted = ",".join(kind for kind in kinds if not kind.startswith("events"))
        label = f"--selector=app.kubernetes.io/instance={self.name}"
        found = self.node.get(wanted, "--all-namespaces", label)["items"]
        return {f"{each['kind']}/{each['metadata']['name']}" for each in found}
