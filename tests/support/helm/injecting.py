"""Pods before and after the chart's policies, and the warnings and errors for their creators."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import yaml

from support.cluster.control_plane import ControlPlane, RefusedError
from support.helm.rendered import CHART
from support.observer.observing import eventually

INJECT = "rebalance-agent/inject"
MARK = "rebalance-agent/injected"
SIDECAR = "rebalance-agent"
VERSION = str(yaml.safe_load((CHART / "Chart.yaml").read_text())["appVersion"])
IMAGE = f"{yaml.safe_load((CHART / 'values.yaml').read_text())['image']['repository']}:{VERSION}"
ADDRESS = {"name": "REBALANCE_AGENT_EVENTS_URL", "value": "http://127.0.0.1:29309/v1/events"}

NUMBERS = itertools.count(1)

SETTINGS = yaml.safe_load((CHART / "files" / "injection.yaml").read_text())
"""Settings that annotations may have."""

EVERY_ANNOTATION = f"injection.annotations={{{','.join(SETTINGS)}}}"
"""A value of the chart that lets all annotations take effect on pods."""

RESTRICTED = {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}


def container(name: str = "consumer", **more: Any) -> dict[str, Any]:
    """A container that the profile `restricted` allows."""
    return {"name": name, "image": f"registry.example/{name}:7", "securityContext": RESTRICTED, **more}


def pod(*containers: dict[str, Any], labels: Mapping[str, str] | None = None, **more: Any) -> dict[str, Any]:
    """A pod that requests a sidecar, unless ``labels`` differ; ``annotations`` and ``owners`` are metadata."""
    metadata: dict[str, Any] = {"name": "pod", "labels": {INJECT: "true"} if labels is None else dict(labels)}
    for name, key in (("annotations", "annotations"), ("owners", "ownerReferences")):
        if name in more:
            metadata[key] = more.pop(name)
    spec = {
        # The token's volume would have another name each time.
        "automountServiceAccountToken": False,
        "securityContext": {"runAsNonRoot": True, "runAsUser": 1000, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": list(containers) or [container()],
        **more,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}


def annotated(**settings: str) -> dict[str, Any]:
    """A pod with these annotations of the chart; underscores stand for dashes."""
    return pod(annotations={f"{SIDECAR}/{name.replace('_', '-')}": value for name, value in settings.items()})


class Injecting:
    """A release of the chart with injection, and its namespaces."""

    def __init__(self, server: ControlPlane, release: str, selector: Mapping[str, str]) -> None:
        self.server, self.release, self.selector = server, release, selector

    @property
    def name(self) -> str:
        """The name of its policies."""
        return f"agents-{self.release}-{SIDECAR}-injection"

    def namespace(self, profile: str = "restricted") -> str:
        """Create a namespace that enforces ``profile`` and warns of violations."""
        name = f"injected-{next(NUMBERS)}"
        modes = {f"pod-security.kubernetes.io/{mode}": profile for mode in ("enforce", "warn")}
        self.server.add_namespace(name, {**self.selector, **modes})
        return name

    def admitted(self, namespace: str, manifest: Mapping[str, Any]) -> dict[str, Any]:
        """An object as it would be stored, without its status. Raises as `ControlPlane.kubectl` does."""
        result: dict[str, Any] = json.loads(self._created(namespace, manifest, "--output=json"))
        for field in ("creationTimestamp", "uid"):
            result["metadata"].pop(field, None)
        result.pop("status", None)
        return result

    def warnings(self, namespace: str, manifest: Mapping[str, Any]) -> list[str]:
        """The warnings of this chart's policy for the creator of an object."""
        try:
            self._created(namespace, manifest, "--warnings-as-errors")
        except RefusedError as error:
            lines = [line for line in str(error).splitlines() if "Warning: " in line]
            if not lines:
                raise
            said = f"ValidatingAdmissionPolicy '{self.name}' with binding '{self.name}': "
            return [line.partition("Warning: ")[2].partition(said)[2] or line for line in lines]
        return []

    def _created(self, namespace: str, manifest: Mapping[str, Any], *arguments: str) -> str:
        dry = ("create", "--dry-run=server", "--namespace", namespace, "--filename=-")
        return self.server.kubectl(*dry, *arguments, stdin=json.dumps(manifest))


@contextmanager
def injecting(server: ControlPlane, *values: str, labels: Mapping[str, str] | None = None) -> Iterator[Injecting]:
    """A release with these ``NAME=VALUE`` and active policies, only for its own namespaces.

    ``labels``: those of the pods that test whether they are active.
    """
    release = f"injection{next(NUMBERS)}"
    if "namespace/agents" not in server.kubectl("get", "namespaces", "--output=name").split():
        server.add_namespace("agents")
    selector = {"injected-by": release}
    given = [
        "observer.enabled=false",
        "injection.enabled=true",
        f"injection.namespaceSelector.matchLabels.injected-by={release}",
        "kafka.bootstrapServers=kafka:9092",
        *values,
    ]
    where = ("--namespace", "agents")
    # --set cannot express an empty list.
    settings = [part for value in given for part in ("--set-json" if value.endswith("=[]") else "--set", value)]
    server.helm("install", release, CHART, *where, *settings)
    try:
        of = Injecting(server, release, selector)
        until_in_force(of, labels)
        yield of
    finally:
        server.helm("uninstall", release, *where)


def until_in_force(of: Injecting, labels: Mapping[str, str] | None = None) -> None:
    """Wait until the API server's admission uses both policies."""
    namespace, wrong = of.namespace(), {f"{SIDECAR}/nonsense": "1"}

    def warned() -> bool:
        try:
            return bool(of.warnings(namespace, pod(labels=labels, annotations=wrong)))
        except RefusedError:
            return True

    eventually(lambda: sidecar(of.admitted(namespace, pod(labels=labels))), waiting_for="the policy that injects")
    eventually(warned, waiting_for="the policy that warns")


def sidecar(made: Mapping[str, Any]) -> dict[str, Any] | None:
    """The injected container of a pod."""
    found: list[dict[str, Any]] = [each for each in made["spec"].get("initContainers", ()) if each["name"] == SIDECAR]
    assert len(found) < 2, found
    return found[0] if found else None


def environment(of: Mapping[str, Any]) -> dict[str, str]:
    """The variables of a container that have a literal value."""
    names = [each["name"] for each in of.get("env", ())]
    assert len(names) == len(set(names)), names
    return {each["name"]: each["value"] for each in of.get("env", ()) if "value" in each}


def without_sidecar(made: Mapping[str, Any]) -> dict[str, Any]:
    """The pod without the injected parts; fails if one of them is missing."""
    rest: dict[str, Any] = json.loads(json.dumps(made))
    metadata, spec = rest["metadata"], rest["spec"]
    assert metadata["annotations"].pop(MARK)
    if not metadata["annotations"]:
        del metadata["annotations"]
    first, *others = spec.pop("initContainers")
    assert (first["name"], first["restartPolicy"]) == (SIDECAR, "Always")
    if others:
        spec["initContainers"] = others
    volumes = [each for each in spec.pop("volumes", ()) if each["name"] != SIDECAR]
    if volumes:
        spec["volumes"] = volumes
    for each in spec["containers"]:
        env = [variable for variable in each.pop("env", ()) if variable != ADDRESS]
        if env:
            each["env"] = env
    return rest
