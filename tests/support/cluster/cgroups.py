"""The node's cgroups: all of them are below one parent, so that another kubelet is not affected."""

from __future__ import annotations

import contextlib
import os
import threading
from pathlib import Path

from rebalance_agent.clock import SystemClock

__all__ = ["NAME", "make", "remove"]

NAME = "rebalance-node"

END_SECONDS_MAX = 10
PAUSE_SECONDS = 0.05

_ROOT = Path("/sys/fs/cgroup")
_CONTROLLERS = ("cpu", "cpuset", "hugetlb", "memory", "pids")
"""Controllers that kubelet requires in its cgroup, if the machine has them."""


def make(root: Path = _ROOT) -> None:
    """Create the cgroup in every hierarchy, because kubelet needs it at its start."""
    for hierarchy in _hierarchies(root):
        for controller in _CONTROLLERS:
            with contextlib.suppress(OSError):  # of version 1, or absent
                (hierarchy / "cgroup.subtree_control").write_text(f"+{controller}", encoding="ascii")
        (hierarchy / NAME).mkdir(exist_ok=True)


def remove(root: Path = _ROOT) -> None:
    """Remove the cgroup and everything below it. Its processes must have ended."""
    clock, pause = SystemClock(), threading.Event()
    end = clock.monotonic() + END_SECONDS_MAX
    ours = [hierarchy / NAME for hierarchy in _hierarchies(root)]
    while any(each.exists() for each in ours) and clock.monotonic() < end:
        for folder in (folder for each in ours for folder, _, _ in os.walk(each, topdown=False)):
            with contextlib.suppress(OSError):  # the kernel has not yet removed a process in it
                Path(folder).rmdir()
        pause.wait(PAUSE_SECONDS)


def _hierarchies(root: Path) -> list[Path]:
    """The single hierarchy of version 2, or those of version 1, each with its controllers."""
    candidates = [root] if (root / "cgroup.procs").exists() else root.iterdir()
    return [folder for folder in candidates if (folder / "cgroup.procs").exists()]
