"""Programs that the tests use and that no wheel brings: found on PATH, or unpacked into the user's cache.

promtool comes from Debian's package ``prometheus``, unpacked without being installed, so nothing is started and no
right is needed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

PROMTOOL = "REBALANCE_AGENT_PROMTOOL"
"""Environment variable that names the promtool to use."""


def cache() -> Path:
    """Where unpacked tools are kept: the same folder as the embedded Kafka's."""
    base = os.environ.get("REBALANCE_AGENT_CACHE")
    if base:
        return Path(base) / "tools"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "rebalance-agent" / "tools"


def provide(environment: dict[str, str]) -> list[str]:
    """Put the tools' paths into ``environment``; return what is missing, why, and how to get it."""
    if PROMTOOL in environment:
        return []
    promtool = shutil.which("promtool") or _unpacked_promtool()
    if promtool:
        environment[PROMTOOL] = promtool
        return []
    return [f"promtool checks: promtool was not found. Get it with: apt-get install prometheus, or set {PROMTOOL}"]


def _unpacked_promtool() -> str | None:
    target = cache() / "prometheus"
    binary = target / "usr" / "bin" / "promtool"
    if binary.exists():
        return str(binary)
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        return None
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        if not _download(folder) and not (_may_update() and _run(["apt-get", "update"], folder) and _download(folder)):
            return None
        packages = list(Path(folder).glob("prometheus_*.deb"))
        unpacked = Path(folder) / "unpacked"
        if not packages or not _run(["dpkg-deb", "-x", str(packages[0]), str(unpacked)], folder):
            return None
        if not target.exists():
            unpacked.rename(target)
    return str(binary) if binary.exists() else None


def _download(folder: str) -> bool:
    # As root, apt drops to a user that may not write here and says so in a warning; the download works all the same.
    return _run(["apt-get", "download", "prometheus"], folder)


def _may_update() -> bool:
    """Package lists are the system's: refreshed only as root and only when asked for."""
    return os.geteuid() == 0 and (os.environ.get("CI") == "true" or os.environ.get("INSTALL") == "1")


def _run(command: list[str], folder: str) -> bool:
    return subprocess.run(command, cwd=folder, capture_output=True, check=False).returncode == 0
