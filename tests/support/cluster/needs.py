"""Requirements of the node: Linux, root, and Debian packages, which are installed only if allowed.

As root under ``CI=true`` or with ``INSTALL=1`` they are installed; otherwise `missing` returns the exact command.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

__all__ = ["PACKAGES", "missing"]

PACKAGES = {
    "/usr/bin/buildah": "buildah",
    "/usr/bin/containerd": "containerd",
    "/usr/bin/gcc": "gcc",
    "/usr/bin/mmdebstrap": "mmdebstrap",
    "/usr/bin/openssl": "openssl",
    "/usr/lib/cni/bridge": "containernetworking-plugins",
    "/usr/sbin/ip": "iproute2",
    "/usr/sbin/iptables": "iptables",
    "/usr/sbin/runc": "runc",
}
"""Program -> the Debian package that contains it."""


def missing() -> str:
    """Missing requirements and how to install them, in one line; empty if there are none (after installation)."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "a real node needs Linux and root, for namespaces, mounts and cgroups: run make test-node as root"
    if not _may_have_namespaces():
        return "a real node: this root may make no namespaces, as in a container without --privileged"
    packages = _absent()
    if packages and _may_install():
        _install(packages)
        packages = _absent()
    if not packages:
        return ""
    return f"a real node: get what it needs with: apt-get install --no-install-recommends {' '.join(packages)}"


def _absent() -> list[str]:
    return sorted(
        {package for program, package in PACKAGES.items() if not (Path(program).exists() or _elsewhere(program))}
    )


def _elsewhere(program: str) -> bool:
    """Whether PATH has it in another folder, as Docker's packages have runc: Debian's package would replace them."""
    return Path(program).parent.name in {"bin", "sbin"} and shutil.which(Path(program).name) is not None


def _may_have_namespaces() -> bool:
    command = ["unshare", "--mount", "--net", "true"]
    return subprocess.run(command, check=False, stderr=subprocess.DEVNULL).returncode == 0


def _may_install() -> bool:
    allowed = os.environ.get("CI") == "true" or os.environ.get("INSTALL") == "1"
    return allowed and shutil.which("apt-get") is not None


def _install(packages: list[str]) -> None:
    environment = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in (["update"], ["install", "--yes", "--no-remove", "--no-install-recommends", *packages]):
        subprocess.run(["apt-get", "--quiet=2", *command], env=environment, check=False)
