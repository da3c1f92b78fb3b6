"""Programs for tests that no wheel contains: from PATH, or unpacked into the user's cache.

promtool comes from Debian's package ``prometheus``, amtool from ``prometheus-alertmanager``, headless Chromium from
``chromium-headless-shell`` (with its missing dependencies). They are unpacked without an installation, which starts no
service and does not need root.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path

PROMTOOL = "REBALANCE_AGENT_PROMTOOL"
"""Environment variable that names the promtool to use."""

AMTOOL = "REBALANCE_AGENT_AMTOOL"
"""Environment variable that names the amtool to use; its Alertmanager is beside it."""

CHROMIUM = "REBALANCE_AGENT_CHROMIUM"
"""Environment variable that names the headless Chromium (or Chrome) to use."""


@dataclass(frozen=True)
class Tool:
    """A program, its Debian package, its path in the package, and the tests that need it.

    ``others``: names that it may also have on PATH. ``with_needed``: it needs libraries that may not be installed.
    """

    variable: str
    program: str
    package: str
    binary: str
    what: str
    others: tuple[str, ...] = ()
    with_needed: bool = False


TOOLS = (
    Tool(PROMTOOL, "promtool", "prometheus", "usr/bin/promtool", "promtool checks"),
    Tool(AMTOOL, "amtool", "prometheus-alertmanager", "usr/bin/amtool", "routing of alerts"),
    Tool(
        CHROMIUM,
        "chromium-headless-shell",
        "chromium-headless-shell",
        "usr/lib/chromium/chromium-headless-shell",
        "pages in a browser",
        others=("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"),
        with_needed=True,
    ),
)


def cache() -> Path:
    """The folder of unpacked tools, inside the cache of the embedded Kafka."""
    base = os.environ.get("REBALANCE_AGENT_CACHE")
    if base:
        return Path(base) / "tools"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rebalance-agent" / "tools"


def provide(environment: dict[str, str]) -> list[str]:
    """Add the tools' paths to ``environment``; return the missing ones with reason and solution."""
    missing = []
    for tool in TOOLS:
        if tool.variable in environment:
            continue
        if found := _found(tool):
            environment[tool.variable] = found
        else:
            how = f"apt-get install {tool.package}, or set {tool.variable}"
            missing.append(f"{tool.what}: {tool.program} was not found. Get it with: {how}")
    return missing


def _found(tool: Tool) -> str | None:
    on_path = (shutil.which(name) for name in (tool.program, *tool.others))
    return next(filter(None, on_path), None) or _unpacked(tool)


def _unpacked(tool: Tool) -> str | None:
    target = cache() / tool.package
    if not (target / tool.binary).exists() and not _unpack(tool, target):
        return None
    return _launcher(target, target / tool.binary) if tool.with_needed else str(target / tool.binary)


def _unpack(tool: Tool, target: Path) -> bool:
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        return False
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        if not _download(tool, folder) and not (
            _may_update() and _run(["apt-get", "update"], folder) and _download(tool, folder)
        ):
            return False
        unpacked = Path(folder) / "unpacked"
        for package in Path(folder).glob("*.deb"):
            if not _run(["dpkg-deb", "-x", str(package), str(unpacked)], folder):
                return False
        if not target.exists() and unpacked.exists():
            unpacked.rename(target)
    return (target / tool.binary).exists()


def _download(tool: Tool, folder: str) -> bool:
    # As root, apt switches to a user that cannot write here, with a warning; the download works anyway.
    packages = _needed(tool.package) if tool.with_needed else [tool.package]
    return bool(packages) and _run(["apt-get", "download", *packages], folder)


def _needed(package: str) -> list[str]:
    """The packages that an installation of ``package`` would install: itself and missing dependencies."""
    command = ["apt-get", "--simulate", "--no-install-recommends", "install", package]
    plan = subprocess.run(command, capture_output=True, check=False, text=True)
    return [line.split()[1] for line in plan.stdout.splitlines() if line.startswith("Inst ")]


def _launcher(root: Path, binary: Path) -> str:
    """A script that starts an unpacked program with the libraries unpacked with it."""
    libraries = sorted({str(each.parent) for each in (root / "usr" / "lib").rglob("*.so*")})
    script = root / "start"
    text = f'#!/bin/sh\nLD_LIBRARY_PATH="{":".join(libraries)}" exec "{binary}" "$@"\n'
    if not script.exists() or script.read_text() != text:
        unfinished = script.with_name(f"start.{os.getpid()}")
        unfinished.write_text(text)
        unfinished.chmod(0o755)
        unfinished.rename(script)
    return str(script)


def _may_update() -> bool:
    """Whether to refresh the system's package lists: only as root, and only on request."""
    return os.geteuid() == 0 and (os.environ.get("CI") == "true" or os.environ.get("INSTALL") == "1")


def _run(command: list[str], folder: str) -> bool:
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0
