"""The node's network: its own namespace with one address and no route to the outside.

The test process and all its child processes (kubelet, containerd, kubectl, Kafka) enter it (`Network.enter`). So the
node cannot conflict with the machine, and calls need no special addresses.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
from pathlib import Path

__all__ = ["ADDRESS", "NAME", "Network"]

NAME = "rebalance-node"
ADDRESS = "10.99.0.1"
"""The node's own address, where pods reach Kafka, DNS and the API server."""

_CLONE_NEWNET = 0x40000000  # linux/sched.h
_LINKS = f"""\
link set lo up
link add node0 type bridge
address add {ADDRESS}/24 dev node0
link set node0 up
route add default dev node0
"""


class Network:
    """Created by `enter`, removed by `leave`, which also undoes an incomplete `enter`."""

    def __init__(self) -> None:
        """Create nothing yet."""
        self._home: int | None = None

    def enter(self) -> None:
        """Create the namespace and move this thread into it, with its later children and threads."""
        path = Path("/run/netns", NAME)
        self._home = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
        _remove(path)  # the rest of a killed run in an unknown state
        _run("ip", "netns", "add", NAME)
        _run("ip", "-netns", NAME, "-batch", "-", text=_LINKS)
        inside = os.open(path, os.O_RDONLY)
        try:
            _move(inside)
        finally:
            os.close(inside)
        Path("/proc/sys/net/ipv4/ip_forward").write_text("1", encoding="ascii")  # this namespace's own

    def leave(self) -> None:
        """Move back, and remove the namespace with its links."""
        if self._home is None:
            return
        _move(self._home)
        os.close(self._home)
        self._home = None
        _remove(Path("/run/netns", NAME))


def _remove(namespace: Path) -> None:
    if namespace.exists():
        _run("ip", "netns", "delete", namespace.name)


def _move(namespace: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)  # os.setns exists since Python 3.12
    if library.setns(namespace, _CLONE_NEWNET) != 0:
        number = ctypes.get_errno()
        raise OSError(number, f"cannot move into the network namespace {NAME}: {os.strerror(number)}")


def _run(*command: str, text: str | None = None) -> None:
    subprocess.run(command, input=text, check=True, text=True)
