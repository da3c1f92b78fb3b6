"""Builds the node's images without a registry: the pause image, a base image, and the project's images.

The base, which replaces ``python:3.11-slim``, consists of Debian's packages (mmdebstrap), with Python 3.11, pip and
venv. buildah then builds the project's own Dockerfile on it.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

__all__ = ["BASE", "archive", "base_image", "build_image", "configured", "pause_image"]

ROOT = Path(__file__).parents[3]

BASE = "lab.local/python:3.11-slim"
BUILD_SECONDS_MAX = 1_500

_BUILDAH = ("buildah", "--storage-driver=overlay")
_SECRETS = {"ca.pem": Path("/etc/ssl/certs/ca-certificates.crt"), "pip.conf": Path("/etc/pip.conf")}
"""The machine's certificates and package sources, as build secrets for the Dockerfile."""

_PAUSE = """\
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>
static void end(int number) { (void)number; _exit(0); }
static void reap(int number) { (void)number; while (waitpid(-1, 0, WNOHANG) > 0) {} }
int main(void) {
  signal(SIGINT, end);
  signal(SIGTERM, end);
  signal(SIGCHLD, reap);
  for (;;) pause();
}
"""
"""The first process of every pod: it waits, and reaps orphaned processes."""


def pause_image(reference: str, target: Path) -> Path:
    """The archive of an image with a program that only waits."""
    if not target.exists():
        with tempfile.TemporaryDirectory() as folder:
            root = Path(folder, "root")
            root.mkdir()
            source = Path(folder, "pause.c")
            source.write_text(_PAUSE, encoding="ascii")
            _run("gcc", "-static", "-Os", "-o", str(root / "pause"), str(source))
            container = _run(*_BUILDAH, "from", "scratch")
            _run(*_BUILDAH, "copy", container, str(root / "pause"), "/pause")
            _run(*_BUILDAH, "config", "--entrypoint", '["/pause"]', "--user", "65535:65535", container)
            _run(*_BUILDAH, "commit", "--rm", container, reference)
        archive(reference, target)
    return target


def base_image() -> str:
    """The name of a base image with Debian's Python 3.11, built at the first call."""
    if BASE not in _present():
        with tempfile.TemporaryDirectory() as folder:
            packages = "python3,python3-venv,python3-pip,ca-certificates,passwd"
            system = Path(folder, "system.tar")
            _run("mmdebstrap", "--quiet", "--variant=minbase", f"--include={packages}", "bookworm", str(system))
            container = _run(*_BUILDAH, "from", "scratch")
            _run(*_BUILDAH, "add", container, str(system), "/")
            _run(*_BUILDAH, "config", "--cmd", "python3", container)
            _run(*_BUILDAH, "commit", "--rm", container, BASE)
    return BASE


def build_image(reference: str, target: str, base: str | None = None) -> None:
    """Build a target of the Dockerfile on ``base``, by default `base_image`."""
    secrets = [f"--secret=id={name},src={path}" for name, path in _SECRETS.items() if path.exists()]
    options = ("--isolation=chroot", "--layers", "--network=host", "--pull-never", f"--target={target}")
    base = f"--build-arg=PYTHON={base or base_image()}"
    _run(*_BUILDAH, "bud", *options, *secrets, base, f"--tag={reference}", str(ROOT))


def archive(reference: str, target: Path) -> Path:
    """Save an image as an archive that containerd can import."""
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    _run(*_BUILDAH, "push", "--quiet", reference, f"oci-archive:{target}:{reference}")
    return target


def configured(reference: str) -> dict[str, Any]:
    """An image's configuration, with the names of the OCI specification: ``User``, ``Labels`` and so on."""
    about: dict[str, Any] = json.loads(_run(*_BUILDAH, "inspect", "--type=image", reference))["OCIv1"]["config"]
    return about


def _present() -> list[str]:
    return _run(*_BUILDAH, "images", "--format", "{{.Name}}:{{.Tag}}").splitlines()


def _run(*command: str) -> str:
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        text=True,
        timeout=BUILD_SECONDS_MAX,
    )
    assert done.returncode == 0, f"{' '.join(command)}\n{_end(done.stdout)}\n{_end(done.stderr)}"
    return done.stdout.strip()


def _end(text: str, lines: int = 30) -> str:
    return "\n".join(text.splitlines()[-lines:])
