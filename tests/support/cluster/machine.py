"""Allows one node at a time on a machine, because names of networks, folders and cgroups are fixed."""

from __future__ import annotations

import contextlib
import fcntl
import os
from collections.abc import Iterator
from pathlib import Path

__all__ = ["BusyError", "reserved"]

LOCK = Path("/run/rebalance-node.lock")


class BusyError(Exception):
    """Another process uses the machine; the text contains its id and the solution."""


@contextlib.contextmanager
def reserved(lock: Path = LOCK) -> Iterator[None]:
    """Reserve the machine for the block, at most until this process ends.

    Raises:
        BusyError: another process has reserved it.
    """
    with lock.open("a+", encoding="ascii") as holder:
        try:
            fcntl.flock(holder, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            holder.seek(0)
            who = holder.read().strip() or "unknown"
            raise BusyError(
                f"another run of make test-node has the node of this machine (process {who}): wait for it, or end it"
            ) from None
        holder.truncate(0)
        holder.write(str(os.getpid()))
        holder.flush()
        yield
