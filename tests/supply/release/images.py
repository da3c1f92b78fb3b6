"""The images: built with ``docker build`` on a machine of each architecture, joined under one tag.

No emulator and no builder image of others is needed: each architecture is built natively, and ``docker buildx
imagetools`` writes the list of both in the registry.
"""

from __future__ import annotations

import platform
import re
from pathlib import Path

from supply.release.run_steps import SkippedError, StepError
from supply.release.settings import REGISTRY, ROOT, Release

TARGETS = {
    "agent": "kafka-rebalance-agent",
    "cloud": "kafka-rebalance-agent-cloud",
    "pipeline": "kafka-rebalance-agent-pipeline",
}
"""Target of the Dockerfile -> name of the image."""

ARCHITECTURES = ("amd64", "arm64")

COMMANDS = {"agent": ("strategies",), "cloud": ("strategies",), "pipeline": ("pipeline", "--help")}
"""Target -> a command that each image must run."""

PIP = Path("/etc/pip.conf")
CERTIFICATES = Path("/etc/ssl/certs/ca-certificates.crt")
"""Files of a machine with a package mirror, which the Dockerfile takes as secrets."""


def architecture() -> str:
    """This machine's architecture as images name it."""
    machine = platform.machine().lower()
    return {"x86_64": "amd64", "aarch64": "arm64"}.get(machine, machine)


def reference(release: Release, name: str, suffix: str = "") -> str:
    """The reference of an image: registry, name, version and ``suffix``; without the registry where it is not known."""
    return f"{release.registry}/{name}:{release.version}{suffix}".lstrip("/")


def build_images(release: Release) -> str:
    """Build all images for this machine's architecture on the base's present digest, and run a command in each."""
    try:
        release.run("docker", "info")
    except StepError as error:
        raise SkippedError(f"no Docker daemon answers: {error}") from None
    base = base_image(release)
    revision = release.run("git", "rev-parse", "HEAD", folder=ROOT).strip()
    options = [f"--build-arg={name}={value}" for name, value in (("PYTHON", base), ("REVISION", revision))]
    options.append(f"--build-arg=VERSION={release.version}")
    if release.address:
        options.append(f"--label=org.opencontainers.image.source={release.address.repository}")
    if PIP.exists():
        options += [f"--secret=id=pip.conf,src={PIP}", f"--secret=id=ca.pem,src={CERTIFICATES}"]
    names = []
    for target, name in TARGETS.items():
        image = reference(release, name, f"-{architecture()}")
        release.say(f"  {image}: some minutes ...")
        release.run("docker", "build", "--quiet", f"--target={target}", f"--tag={image}", *options, release.staged)
        release.run("docker", "run", "--rm", image, *COMMANDS[target])
        names.append(image)
    return f"{', '.join(names)} on {base}"


def base_image(release: Release) -> str:
    """The base image of the Dockerfile with its present digest."""
    (base,) = re.findall(r"^ARG PYTHON=(\S+)$", (ROOT / "Dockerfile").read_text(encoding="utf-8"), re.MULTILINE)
    return f"{base}@{_digest(release, base)}"


def push_images(release: Release) -> str:
    """Push this architecture's images."""
    require_registry(release)
    names = [reference(release, name, f"-{architecture()}") for name in TARGETS.values()]
    for name in names:
        release.run("docker", "push", "--quiet", name)
    return ", ".join(names)


def join_images(release: Release) -> str:
    """Make one tag of both architectures for each image; pass on the digests as ``agent`` and ``pipeline``."""
    require_registry(release)
    for target, name in TARGETS.items():
        image = reference(release, name)
        parts = [reference(release, name, f"-{each}") for each in ARCHITECTURES]
        release.run("docker", "buildx", "imagetools", "create", f"--tag={image}", *parts)
        release.output(**{target: _digest(release, image), f"{target}_name": image.rpartition(":")[0]})
    return f"{', '.join(ARCHITECTURES)} of {', '.join(TARGETS.values())}"


def require_registry(release: Release) -> None:
    """Refuse to publish without a registry and a tag.

    Raises:
        StepError: one of both is missing.

    """
    if not release.registry or not release.tag:
        raise StepError(f"publishing needs {REGISTRY} and --tag")


def _digest(release: Release, image: str) -> str:
    command = ("docker", "buildx", "imagetools", "inspect", image, "--format", "{{.Manifest.Digest}}")
    digest = release.run(*command).strip()
    if not re.fullmatch(r"sha256:[0-9a-f]{64}", digest):
        raise StepError(f"{image} has no digest: {digest!r}")
    return digest
