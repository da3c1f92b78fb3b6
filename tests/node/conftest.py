"""One real node for all tests that need it, with a Kafka and the chart.

Shared preparations take minutes once: the image of this tree, and Kubernetes' programs, which are built and cached.
"""

from __future__ import annotations

import contextlib
import json
import os

import pytest

from rebalance_agent.testing.kafka.java import java_runtime
from support.cluster import images, kube_tools, needs
from support.cluster.consumers import Consumers
from support.cluster.files import PAUSE, Place
from support.cluster.kafka import kafka_for_pods
from support.cluster.machine import BusyError, reserved
from support.cluster.node import Node
from support.helm.release import IMAGE, PIPELINE_IMAGE, Release
from support.observer.observing import eventually
from support.runner import tools

RUN_SECONDS_MAX = 300


@pytest.fixture(scope="session")
def machine():
    """Reserve this machine for the run if it meets the requirements, before builds, which take minutes."""
    if missing := needs.missing():
        assert os.environ.get("CI") != "true", missing
        pytest.skip(missing)
    with contextlib.ExitStack() as held:
        try:
            held.enter_context(reserved())
        except BusyError as error:
            pytest.exit(str(error), returncode=1)
        yield


@pytest.fixture(scope="session")
def archives(machine, tmp_path_factory):
    """The images of this tree by their names; built before, because the node's network has no route to the outside."""
    folder = tmp_path_factory.mktemp("images")

    def archive(reference, target):
        images.build_image(reference, target)
        return images.archive(reference, folder / f"{target}.tar")

    return {IMAGE: archive(IMAGE, "agent"), PIPELINE_IMAGE: archive(PIPELINE_IMAGE, "pipeline")}


@pytest.fixture(scope="session")
def node(archives, tmp_path_factory):
    """A node with the images, and with the resources of the Prometheus operator."""
    definitions = kube_tools.operator_definitions()
    java_runtime()  # the node's network has no route to the outside: downloads happen before
    pause = images.pause_image(PAUSE, tmp_path_factory.mktemp("pause") / "pause.tar")
    with Node(Place(tools.cache() / "node"), [pause, *archives.values()]) as node:
        for kind in ("podmonitors", "prometheusrules", "servicemonitors"):
            path = definitions / f"monitoring.coreos.com_{kind}.yaml"
            node.plane.kubectl("apply", "--server-side", "-f", path)
        yield node


@pytest.fixture(scope="session")
def kafka(node, tmp_path_factory):
    """``host:port`` of a broker, as pods reach it."""
    with kafka_for_pods(tmp_path_factory.mktemp("kafka")) as bootstrap:
        yield bootstrap


@pytest.fixture(scope="session")
def release(node, kafka):
    """The observer, injection and monitoring."""
    release = Release(node, kafka, flags=("--set=injection.enabled=true", "--set=monitoring.enabled=true"))
    release.install()
    return release


@pytest.fixture
def consumers(node, kafka, release, request):
    """A namespace of the test's own, named after it; so are its topic and group."""
    name = request.node.name.removeprefix("test_").replace("_", "-")[:50].rstrip("-")
    with Consumers(node, IMAGE, kafka, name) as consumers:
        yield consumers


@pytest.fixture
def run(node):
    """The output of a container that runs under the profile `restricted`, with only /tmp writable."""
    made = []

    def run(name, image=IMAGE, **container):
        security = {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
            "runAsNonRoot": True,  # kubelet accepts runAsNonRoot only for an image with a numeric user
            "seccompProfile": {"type": "RuntimeDefault"},
        }
        mounts = [{"name": "tmp", "mountPath": "/tmp"}]
        container = {"name": "it", "image": image, "securityContext": security, "volumeMounts": mounts, **container}
        spec = {
            "automountServiceAccountToken": False,
            "containers": [container],
            "restartPolicy": "Never",
            "volumes": [{"name": "tmp", "emptyDir": {}}],
        }
        manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}
        made.append(name)
        node.plane.kubectl("create", "-f", "-", stdin=json.dumps(manifest))

        def phase():
            return node.get("pod", name)["status"]["phase"]

        eventually(lambda: phase() in {"Succeeded", "Failed"}, RUN_SECONDS_MAX, waiting_for=f"the end of pod {name}")
        reported = node.plane.kubectl("logs", name)
        assert phase() == "Succeeded", reported
        return reported

    yield run
    for name in made:
        node.plane.kubectl("delete", "pod", name, "--wait=false", "--ignore-not-found")
