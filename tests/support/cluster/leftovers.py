"""Removes what remains after the node's programs end: shims, mounts, cgroups, and kubelet's sysctls.

`clean` uses only the node's own folders and cgroups, so it can also clean up after a killed run.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from pathlib import Path

from support.cluster import cgroups
from support.cluster.files import Place

__all__ = ["Sysctls", "clean"]

SYSCTLS = (
    "kernel/keys/root_maxbytes",
    "kernel/keys/root_maxkeys",
    "kernel/panic",
    "kernel/panic_on_oops",
    "vm/overcommit_memory",
    "vm/panic_on_oom",
)
"""Sysctls that kubelet writes at its start (with ``protectKernelDefaults`` it would refuse to start instead)."""


class Sysctls:
    """The machine's original sysctl values."""

    def __init__(self) -> None:
        """Read them."""
        self._before = {path: path.read_bytes() for name in SYSCTLS if (path := Path("/proc/sys", name)).exists()}

    def restore(self) -> None:
        """Write back changed values."""
        for path, value in self._before.items():
            if path.read_bytes() != value:
                path.write_bytes(value)


def clean(place: Place) -> None:
    """End shims and containers, undo mounts, remove cgroups. containerd and kubelet must have ended."""
    for shim in _shims(place):
        for child in _children(shim):
            _kill(child)
        _kill(shim)
    for mount in _mounts(place):
        subprocess.run(["umount", "--lazy", mount], check=False, stderr=subprocess.DEVNULL)
    cgroups.remove()


def _shims(place: Place) -> list[int]:
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdecimal():
            with contextlib.suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                if words[0].endswith(b"containerd-shim-runc-v2") and str(place.socket).encode() in words:
                    found.append(int(folder.name))
    return found


def _children(process: int) -> list[int]:
    with contextlib.suppress(OSError):
        return [int(each) for each in Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    return []


def _kill(process: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def _mounts(place: Place) -> list[str]:
    """The mounts below the node's two folders, the innermost first."""
    points = [line.split()[1] for line in Path("/proc/mounts").read_text(encoding="utf-8").splitlines()]
    ours = tuple(f"{folder}/" for folder in (place.root, place.run))
    return sorted((each for each in points if each.startswith(ours)), reverse=True)
