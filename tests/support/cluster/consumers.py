"""Consumers in pods: a namespace with a Deployment, and their state in Kubernetes and Kafka."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from typing import Any, Self
from urllib.error import URLError

from confluent_kafka import Consumer, KafkaError, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic

from support.cluster.node import Node
from support.observer.observing import answered, eventually, http

__all__ = ["PARTITIONS", "Consumers", "events", "ready", "samples"]

PARTITIONS = 12
PROGRAM = Path(__file__).parents[2] / "node" / "consumer.py"
SECONDS_MAX = 240
"""Longest time (seconds) to wait for pods, on a busy machine."""

_RESTRICTED = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}


class Consumers:
    """A namespace ``name`` whose pods consume the topic ``name`` in the group ``name``. Use it in a ``with``."""

    def __init__(self, node: Node, image: str, bootstrap: str, name: str) -> None:
        self.node, self.name = node, name
        self._image, self._bootstrap = image, bootstrap

    def __enter__(self) -> Self:
        admin = AdminClient({"bootstrap.servers": self._bootstrap})
        admin.create_topics([NewTopic(self.name, PARTITIONS)])[self.name].result(30)
        labels = {"pod-security.kubernetes.io/enforce": "restricted"}
        self._create({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": self.name, "labels": labels}})
        data = {"consumer.py": PROGRAM.read_text(encoding="utf-8")}
        self._create({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "program"}, "data": data})
        return self

    def __exit__(self, *_reason: object) -> None:
        self.node.plane.kubectl("delete", "namespace", self.name, "--wait=false")

    def deploy(self, replicas: int, memory_max: str = "256Mi") -> None:
        """Create a Deployment with pods for injection; return when all of them are ready.

        ``memory_max``: memory limit of a consumer, above which the kernel kills it.
        """
        labels = {"app": "consumer"}
        template = self._pod(labels)
        template["spec"]["containers"][0]["resources"]["limits"] = {"memory": memory_max}
        spec = {"replicas": replicas, "selector": {"matchLabels": labels}, "template": template}
        self._create({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "consumer"}, "spec": spec})
        self.settled(replicas)

    def job(self, name: str, seconds: int) -> None:
        """A Job with one pod that ends after some seconds."""
        spec = {"template": self._pod({"job": name}, seconds), "backoffLimit": 0}
        spec["template"]["spec"]["restartPolicy"] = "Never"
        self._create({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": name}, "spec": spec})

    def kubectl(self, *arguments: str, stdin: str | None = None) -> str:
        """Run kubectl in the namespace."""
        return self.node.plane.kubectl("--namespace", self.name, *arguments, stdin=stdin)

    def pods(self) -> list[dict[str, Any]]:
        """The Deployment's pods that are not being deleted."""
        found = self.node.get("pods", "--namespace", self.name, "--selector=app=consumer")["items"]
        return [pod for pod in found if "deletionTimestamp" not in pod["metadata"]]

    def now(self, pod: dict[str, Any]) -> dict[str, Any]:
        """The current state of a pod, also after its end."""
        found: dict[str, Any] = self.node.get("pod", pod["metadata"]["name"], "--namespace", self.name)
        return found

    def events(self, pod: dict[str, Any], reason: str) -> list[dict[str, Any]]:
        """The Kubernetes events of a pod with this reason."""
        selector = f"--field-selector=reason={reason},involvedObject.name={pod['metadata']['name']}"
        recorded: list[dict[str, Any]] = self.node.get("events", "--namespace", self.name, selector)["items"]
        return recorded

    def settled(self, replicas: int) -> list[dict[str, Any]]:
        """The pods, when the expected number is ready and no deleted pod is left."""

        def are_there() -> list[dict[str, Any]] | None:
            found = self.node.get("pods", "--namespace", self.name, "--selector=app=consumer")["items"]
            return found if len(found) == replicas and all(map(ready, found)) else None

        return eventually(are_there, SECONDS_MAX, waiting_for=f"{replicas} consumers that are ready")

    def kill(self, pod: dict[str, Any], signal: str) -> None:
        """Send a signal to the consumer only, not to other processes of its pod."""
        (container,) = (each for each in pod["status"]["containerStatuses"] if each["name"] == "consumer")
        identity = container["containerID"].rpartition("/")[2]
        socket = str(self.node.place.socket)
        command = ["ctr", "--address", socket, "--namespace", "k8s.io", "tasks", "kill", "--signal", signal, identity]
        subprocess.run(command, check=True, capture_output=True)

    def _pod(self, labels: dict[str, str], seconds: int | None = None) -> dict[str, Any]:
        variables = {"TOPIC": self.name, "GROUP": self.name, "BOOTSTRAP_SERVERS": self._bootstrap}
        if seconds is not None:
            variables["SECONDS"] = str(seconds)
        container = {
            "name": "consumer",
            "image": self._image,
            "imagePullPolicy": "IfNotPresent",
            "command": ["python", "/program/consumer.py"],
            "env": [{"name": name, "value": value} for name, value in variables.items()],
            "resources": {"requests": {"cpu": "20m", "memory": "64Mi"}},
            "securityContext": _RESTRICTED,
            "volumeMounts": [{"name": "program", "mountPath": "/program"}],
        }
        return {
            "metadata": {"labels": {**labels, "rebalance-agent/inject": "true"}},
            "spec": {
                "automountServiceAccountToken": False,
                "containers": [container],
                "terminationGracePeriodSeconds": 20,
                "volumes": [{"name": "program", "configMap": {"name": "program"}}],
            },
        }

    def _create(self, manifest: dict[str, Any]) -> None:
        self.kubectl("create", "-f", "-", stdin=json.dumps(manifest))


def ready(pod: dict[str, Any]) -> bool:
    """Whether the pod is ready and not being deleted."""
    conditions = pod["status"].get("conditions", ())
    return "deletionTimestamp" not in pod["metadata"] and any(
        each["type"] == "Ready" and each["status"] == "True" for each in conditions
    )


def samples(address: str, name: str, **labels: str) -> dict[str, float]:
    """Labels (``{NAME="VALUE",...}``) -> value of each series of a metric with these labels, from ``ADDRESS/metrics``.

    A Service refuses connections while none of its pods is ready, as after a restart of kubelet, which probes all pods
    again: a refused request is repeated.
    """
    status, text = answered(lambda: http(f"http://{address}/metrics"), refusal=URLError)
    assert status == 200, text
    wanted = [f'{label}="{value}"' for label, value in labels.items()]
    lines = (re.fullmatch(r"(\w+)(\{.*\})? (\S+)", line) for line in text.splitlines())
    return {
        (each[2] or ""): float(each[3])
        for each in lines
        if each and each[1] == name and all(pair in (each[2] or "") for pair in wanted)
    }


def events(bootstrap: str, group: str, topic: str = "rebalance-events") -> list[dict[str, Any]]:
    """All events of a group in a topic; those of one partition are in order."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": "nobody", "enable.partition.eof": True})
    parts = consumer.list_topics(topic, 10).topics[topic].partitions
    consumer.assign([TopicPartition(topic, part, 0) for part in parts])
    found, ended = [], 0
    while ended < len(parts):
        message = consumer.poll(10)
        assert message is not None, "the topic of events does not answer"
        if message.error() is None:
            found.append(json.loads(message.value()))
        else:
            assert message.error().code() == KafkaError._PARTITION_EOF, message.error()
            ended += 1
    consumer.close()
    return [event for event in found if event.get("group") == group]
