"""Kubernetes' control plane without a node: real etcd and kube-apiserver on a given address.

It has admission, validation, defaults, roles and policies. It has no scheduler and no controllers: pods are not
scheduled, and a new namespace has no service account until a test creates one.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from rebalance_agent.clock import SystemClock
from rebalance_agent.testing.kafka.broker_settings import HOST, free_ports
from rebalance_agent.testing.kafka.java_process import GuardedProcess
from support.cluster.cluster_access import Access
from support.cluster.kube_tools import program

SERVICES = "10.96.0.0/16"
SERVICE = "10.96.0.1"
"""The first address of `SERVICES` is the API server's own."""

ISSUER = "https://kubernetes.default.svc"
ADMIN = {"admin": "system:masters"}
CALL_SECONDS_MAX = 300
"""Longest time (seconds) of a call: more than helm's longest wait."""

READY_SECONDS_MAX = 120
"""Longest time (seconds) until it is ready: four on an idle machine, several times more on a busy one."""

POLL_SECONDS = 0.1
END_SECONDS_MAX = 20
LOG_LINES = 20


class RefusedError(AssertionError):
    """A program ended with an error, or did not get ready; the text contains its output."""


def documents(manifests: Iterable[Mapping[str, Any]]) -> str:
    """Objects in kubectl's format."""
    return "\n---\n".join(json.dumps(each) for each in manifests)  # JSON is YAML


class ControlPlane:
    """An API server in ``folder`` with its own database. Use it in a ``with``.

    ``host``: the address on which it listens. ``users``: user name -> group; each gets a kubeconfig.
    ``arguments``: further arguments of kube-apiserver.
    """

    def __init__(
        self,
        folder: Path,
        *,
        host: str = HOST,
        users: Mapping[str, str] = ADMIN,
        arguments: Sequence[str] = (),
    ) -> None:
        self.folder, self.host = folder, host
        self.port, self._etcd_port, self._peers_port = free_ports(3)
        self.access = Access(folder, host, self.port, SERVICE, users)
        self._arguments = tuple(arguments)

    def __enter__(self) -> Self:
        with ExitStack() as started:
            self._start("etcd", self._etcd(), started)  # the API server waits for it
            self._await_ready(self._start("kube-apiserver", self._api_server(), started))
            self._started = started.pop_all()
        return self

    def __exit__(self, *_reason: object) -> None:
        self._started.close()

    def _start(self, name: str, arguments: Sequence[str], started: ExitStack) -> GuardedProcess:
        process = GuardedProcess([program(name), *arguments], self._log(name), os.environ, remove=())
        started.callback(_end, process)
        return process

    def _await_ready(self, api_server: GuardedProcess) -> None:
        clock = SystemClock()
        end = clock.monotonic() + READY_SECONDS_MAX
        while not self._ready():
            if api_server.exited.wait(POLL_SECONDS) or clock.monotonic() > end:
                lines = self._log("kube-apiserver").read_text(errors="replace").splitlines()[-LOG_LINES:]
                raise RefusedError("\n".join(["kube-apiserver does not get ready:", *lines]))

    def _ready(self) -> bool:
        try:
            return self.kubectl("get", "--raw", "/readyz") == "ok"
        except RefusedError:
            return False

    def _log(self, name: str) -> Path:
        return self.folder / f"{name}.log"

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.access.kubeconfig("admin")

    def kubectl(self, *arguments: str | Path, stdin: str | None = None, user: str = "admin") -> str:
        """kubectl's standard output.

        Raises:
            RefusedError: it failed; the text contains its arguments and its standard error.

        """
        return self._call("kubectl", arguments, stdin, user)

    def helm(self, *arguments: str | Path, stdin: str | None = None, user: str = "admin") -> str:
        """helm's output; helm stores nothing outside of the folder. Raises as `kubectl` does."""
        return self._call("helm", arguments, stdin, user)

    def add_namespace(self, name: str, labels: Mapping[str, str] | None = None) -> None:
        """Create a namespace with the default service account, which a controller normally creates, for its pods."""
        space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": dict(labels or {})}}
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default", "namespace": name}}
        self.kubectl("create", "--filename", "-", stdin=documents([space, account]))

    def dry_run(self, manifests: Sequence[Mapping[str, Any]], namespace: str) -> list[str]:
        """Submit objects without storing them; return the server's answer for each.

        ``namespace``: for objects without one.

        Raises:
            RefusedError: one has an unknown field, is not valid, is not admitted, or causes a warning.

        """
        return [
            line
            for where in sorted({each["metadata"].get("namespace", namespace) for each in manifests})
            for line in self.kubectl(
                *("apply", "--namespace", where, "--dry-run=server", "--validate=strict", "--warnings-as-errors"),
                *("--filename", "-"),
                # No `List`: kubectl validates its items itself, less strictly.
                stdin=documents(each for each in manifests if each["metadata"].get("namespace", namespace) == where),
            ).splitlines()
        ]

    def _call(self, name: str, arguments: Sequence[str | Path], stdin: str | None, user: str) -> str:
        environment = {
            **os.environ,
            "KUBECONFIG": str(self.access.kubeconfig(user)),
            "KUBECACHEDIR": str(self.folder / "kubectl"),
            **{f"HELM_{kind}_HOME": str(self.folder / "helm" / kind.lower()) for kind in ("CACHE", "CONFIG", "DATA")},
        }
        done = subprocess.run(
            [program(name), *map(str, arguments)],
            env=environment,
            input=stdin or "",
            capture_output=True,
            check=False,
            text=True,
            timeout=CALL_SECONDS_MAX,
        )
        if done.returncode:
            raise RefusedError(f"{name} {' '.join(map(str, arguments))}: {done.stderr.strip()}")
        return done.stdout

    def _etcd(self) -> list[str]:
        clients, peers = f"http://{HOST}:{self._etcd_port}", f"http://{HOST}:{self._peers_port}"
        return [
            "--name=tests",
            f"--data-dir={self.folder / 'etcd'}",
            f"--listen-client-urls={clients}",
            f"--advertise-client-urls={clients}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=tests={peers}",
            "--unsafe-no-fsync",  # its data need not survive a loss of power
            "--log-level=warn",
        ]

    def _api_server(self) -> list[str]:
        return [
            f"--etcd-servers=http://{HOST}:{self._etcd_port}",
            f"--bind-address={self.host}",
            f"--advertise-address={self.host}",
            f"--secure-port={self.port}",
            # No Service may lead to loopback.
            f"--endpoint-reconciler-type={'none' if self.host == HOST else 'lease'}",
            f"--tls-cert-file={self.access.server.chain}",
            f"--tls-private-key-file={self.access.server.key}",
            f"--kubelet-client-certificate={self.access.server.chain}",
            f"--kubelet-client-key={self.access.server.key}",
            "--kubelet-preferred-address-types=InternalIP",
            f"--client-ca-file={self.access.authority.certificate.chain}",
            f"--token-auth-file={self.access.tokens}",
            f"--service-account-key-file={self.access.service_accounts.chain}",
            f"--service-account-signing-key-file={self.access.service_accounts.key}",
            f"--service-account-issuer={ISSUER}",
            f"--api-audiences={ISSUER}",
            f"--service-cluster-ip-range={SERVICES}",
            "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction",
            "--allow-privileged=true",
            # The API of the sidecar injection, beta and off by default in 1.34.
            "--feature-gates=MutatingAdmissionPolicy=true",
            "--runtime-config=admissionregistration.k8s.io/v1beta1=true",
            *self._arguments,
        ]


def _end(process: GuardedProcess) -> None:
    process.terminate()
    if not process.exited.wait(END_SECONDS_MAX):
        process.kill()
