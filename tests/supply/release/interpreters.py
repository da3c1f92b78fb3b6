"""Finds Python interpreters by version: on PATH, and in pyenv's folder, whose shims may be inactive."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13")
"""The versions of Python that ``pyproject.toml`` names."""

START_SECONDS_MAX = 30


def interpreter(version: str, environment: Mapping[str, str]) -> str | None:
    """The path of a Python of that version (such as ``3.12``) which starts; none if there is none."""
    return next((path for path in _candidates(version, environment) if _starts(path, version)), None)


def _candidates(version: str, environment: Mapping[str, str]) -> Iterator[str]:
    path = environment.get("PATH", "")
    if on_path := shutil.which(f"python{version}", path=path):
        yield on_path
    shims = (Path(entry).parent for entry in path.split(":") if Path(entry).name == "shims")
    roots = [Path(environment["PYENV_ROOT"])] if environment.get("PYENV_ROOT") else list(shims)
    for root in roots:
        yield from map(str, sorted(root.glob(f"versions/{version}.*/bin/python")))


def _starts(path: str, version: str) -> bool:
    """Whether it is that version: a shim of pyenv exists for each version, and fails for an inactive one."""
    code = "import sys, venv; print(f'{sys.version_info[0]}.{sys.version_info[1]}')"
    try:
        done = subprocess.run(
            [path, "-I", "-c", code], capture_output=True, check=False, text=True, timeout=START_SECONDS_MAX
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0 and done.stdout.strip() == version
