"""A real Kubernetes node: control plane, containerd, kubelet, scheduler and controllers in their own network.

    with Node(place, images) as node:
        node.plane.kubectl("get", "nodes")

The process that starts it is inside that network until the end of the block (see `network`). There is no
registry: pods use images that were imported. Nothing enforces a NetworkPolicy.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

from rebalance_agent.clock import SystemClock
from rebalance_agent.testing.kafka.java_process import GuardedProcess
from support.cluster import cgroups, kube_tools
from support.cluster.control_plane import ControlPlane, RefusedError
from support.cluster.dns import Dns
from support.cluster.files import EVICTION_BYTES, Place, write_files, write_kubelet
from support.cluster.leftovers import Sysctls, clean
from support.cluster.network import ADDRESS, Network

__all__ = ["Node"]

OF_A_NODE = ("kube-controller-manager", "kube-scheduler", "kubelet", "kube-proxy")
OF_A_CONTROL_PLANE = ("etcd", "kube-apiserver", "kubectl", "helm")

READY_SECONDS_MAX = 180
END_SECONDS_MAX = 20

_CONTROLLERS, _SCHEDULER, _KUBELET, _PROXY = (
    "system:kube-controller-manager",
    "system:kube-scheduler",
    "system:node:node1",
    "system:kube-proxy",
)
_USERS = {"admin": "system:masters", _CONTROLLERS: "", _SCHEDULER: "", _KUBELET: "system:nodes", _PROXY: ""}


class Node:
    """The node ``node1`` during a ``with``, on a machine that is `machine.reserved`."""

    plane: ControlPlane

    def __init__(self, place: Place, images: Sequence[Path]) -> None:
        """``images``: archives of the pods' images; pods need ``imagePullPolicy: IfNotPresent``."""
        self.place = place
        self._images = images
        self._running = contextlib.ExitStack()
        self._kubelet: GuardedProcess | None = None

    def __enter__(self) -> Self:
        """Start everything; returns when the node is ready for pods."""
        # Built before this process enters the network namespace, which has no route to the outside.
        programs = {name: kube_tools.program(name) for name in (*OF_A_CONTROL_PLANE, *OF_A_NODE)}
        with contextlib.ExitStack() as started:
            clean(self.place)  # remains of a killed run
            shutil.rmtree(self.place.root, ignore_errors=True)
            self.place.root.mkdir(parents=True)
            started.callback(shutil.rmtree, self.place.root / "containerd", ignore_errors=True)  # gigabytes; logs stay
            started.callback(Sysctls().restore)
            network = Network()
            started.callback(network.leave)
            network.enter()
            started.callback(clean, self.place)
            cgroups.make()
            started.enter_context(Dns(self._service))
            self.plane = ControlPlane(self.place.root, host=ADDRESS, users=_USERS)
            started.enter_context(self.plane)
            self._start(started, programs)
            started.callback(self._remove_pods)
            self._running = started.pop_all()
        return self

    def __exit__(self, *reason: object) -> None:
        """End everything, the pods first, and restore the machine."""
        self._running.close()

    def get(self, *arguments: str) -> Any:
        """``kubectl get ... --output json``, parsed."""
        return json.loads(self.plane.kubectl("get", *arguments, "--output", "json"))

    def memory(self) -> dict[str, Any]:
        """The node's memory as kubelet reports it: ``availableBytes``, ``workingSetBytes`` and more."""
        summary = json.loads(self.plane.kubectl("get", "--raw", "/api/v1/nodes/node1/proxy/stats/summary"))
        memory: dict[str, Any] = summary["node"]["memory"]
        return memory

    @contextlib.contextmanager
    def evicting_below(self, available_bytes: int) -> Iterator[None]:
        """Make kubelet evict a pod if less memory is available on the node, during a ``with``.

        Kubelet reads its configuration only at start, so it is restarted; pods keep running.
        """
        self._restart_kubelet(available_bytes)
        try:
            yield
        finally:
            self._restart_kubelet(EVICTION_BYTES)

    def _restart_kubelet(self, eviction_bytes: int) -> None:
        self._end_kubelet()
        write_kubelet(self.place, eviction_bytes)
        self._start_kubelet()
        self._await(self._answers, "kubelet")
        self._await(self._pods_ready, "kubelet")  # until it has probed them, services have no endpoints

    def _answers(self) -> bool:
        try:
            return "availableBytes" in self.memory()
        except (RefusedError, KeyError):
            return False

    def _pods_ready(self) -> bool:
        running = self.get("pods", "--all-namespaces", "--field-selector=status.phase=Running")["items"]
        conditions = [condition for pod in running for condition in pod["status"]["conditions"]]
        return all(condition["status"] == "True" for condition in conditions if condition["type"] == "Ready")

    def images(self, archive: Path) -> None:
        """Import an archive's images into containerd."""
        command = [
            "ctr",
            "--address",
            str(self.place.socket),
            "--namespace",
            "k8s.io",
            "images",
            "import",
            str(archive),
        ]
        done = subprocess.run(command, check=False, capture_output=True, text=True)
        assert done.returncode == 0, f"{' '.join(command)}\n{done.stderr}"

    def _start(self, started: contextlib.ExitStack, programs: dict[str, str]) -> None:
        place, plane = self.place, self.plane
        write_files(place, plane.access.kubeconfig(_PROXY))
        self._run(started, "containerd", "containerd", "--config", place.root / "containerd.toml")
        self._await(lambda: _accepts(place.socket), "containerd")
        for archive in self._images:
            self.images(archive)
        self._run(
            started,
            "controllers",
            programs["kube-controller-manager"],
            f"--kubeconfig={plane.access.kubeconfig(_CONTROLLERS)}",
            "--bind-address=127.0.0.1",
            "--leader-elect=false",
            "--use-service-account-credentials=true",
            f"--service-account-private-key-file={plane.access.service_accounts.key}",
            f"--root-ca-file={plane.access.authority.certificate.chain}",
        )
        self._run(
            started,
            "scheduler",
            programs["kube-scheduler"],
            f"--kubeconfig={plane.access.kubeconfig(_SCHEDULER)}",
            "--bind-address=127.0.0.1",
            "--leader-elect=false",
        )
        self._start_kubelet()
        started.callback(self._end_kubelet)
        self._run(started, "proxy", programs["kube-proxy"], f"--config={place.root / 'proxy.yaml'}")
        self._await(self._ready, "kubelet")

    def _start_kubelet(self) -> None:
        place = self.place
        self._kubelet = self._process(
            "kubelet",
            kube_tools.program("kubelet"),
            f"--config={place.root / 'kubelet.yaml'}",
            f"--kubeconfig={self.plane.access.kubeconfig(_KUBELET)}",
            "--hostname-override=node1",
            f"--node-ip={ADDRESS}",
            f"--root-dir={place.root / 'kubelet'}",
            f"--cert-dir={place.root / 'kubelet-pki'}",
        )

    def _end_kubelet(self) -> None:
        assert self._kubelet
        _end(self._kubelet)

    def _run(self, started: contextlib.ExitStack, name: str, *command: str | Path) -> None:
        """Start a program that ends with this block, or with this process, however it ends."""
        started.callback(_end, self._process(name, *command))

    def _process(self, name: str, *command: str | Path) -> GuardedProcess:
        log = self.place.root / "log" / f"{name}.log"
        return GuardedProcess([str(argument) for argument in command], log, os.environ, [])

    def _await(self, condition: Callable[[], bool], name: str) -> None:
        clock, pause = SystemClock(), threading.Event()
        end = clock.monotonic() + READY_SECONDS_MAX
        while not condition():
            assert clock.monotonic() < end, f"{name} does not get ready:\n{self._log(name)}"
            pause.wait(0.1)

    def _log(self, name: str) -> str:
        return (self.place.root / "log" / f"{name}.log").read_text(encoding="utf-8", errors="replace")[-3_000:]

    def _ready(self) -> bool:
        """Whether pods can start: the node is ready, and controllers have created the service account."""
        conditions = [each for node in self.get("nodes")["items"] for each in node["status"]["conditions"]]
        ready = any(each["type"] == "Ready" and each["status"] == "True" for each in conditions)
        return ready and bool(self.plane.kubectl("get", "serviceaccount", "default", "--ignore-not-found"))

    def _remove_pods(self) -> None:
        """Delete pods while kubelet runs, which removes their networks and mounts; `clean` removes the rest."""
        with contextlib.suppress(RefusedError):
            self.plane.kubectl(
                "delete", "pods", "--all", "--all-namespaces", "--force", "--grace-period=0", "--timeout=30s"
            )

    def _service(self, name: str, namespace: str) -> str | None:
        try:
            return str(self.get("service", name, "--namespace", namespace)["spec"]["clusterIP"])
        except (RefusedError, subprocess.TimeoutExpired):  # the caller retries
            return None


def _end(process: GuardedProcess) -> None:
    process.terminate()
    if not process.exited.wait(END_SECONDS_MAX):
        process.kill()


def _accepts(path: Path) -> bool:
    """Whether a program listens on the socket; a killed run leaves the file of its socket."""
    with socket.socket(socket.AF_UNIX) as connection:
        return connection.connect_ex(str(path)) == 0
