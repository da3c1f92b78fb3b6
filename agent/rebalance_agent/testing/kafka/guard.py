"""A small process that owns one Java process and ends it when the process that asked for it is gone.

Run by path with ``python -I -S guard.py``: standard library only, nothing of this package. The guard lives in a
session of its own, so a Ctrl-C in the terminal reaches neither it nor Java: the parent decides what ends when.

How it learns that the parent is gone, whichever way it went:

* its standard input, a pipe that the parent holds open, reaches its end;
* or ``getppid()`` changes (looked at twice a second), in case a forked child of the parent keeps the pipe open.

Then Java gets SIGKILL and the directories given with ``--remove`` are deleted: nobody is left to want them.
Orders of the parent are single bytes on standard input, ``t`` for SIGTERM and ``k`` for SIGKILL. What happens is
told on standard output: ``pid N`` once Java runs, ``exit N`` after it ended (negative: the signal's number).

With ``--follow`` there is no pipe: Java gets the guard's own standard streams and the guard exits as Java does.
"""

from __future__ import annotations

import argparse
import os
import select
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

__all__ = ["main"]

PARENT_POLL_S = 0.5


def main() -> int:
    """Run the command until it ends or has to; the exit status is the command's."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--parent", type=int, required=True)
    parser.add_argument("--log")
    parser.add_argument("--follow", action="store_true")
    parser.add_argument("--nice", type=int, default=0)
    parser.add_argument("--remove", action="append", default=[])
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()

    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.set_wakeup_fd(wake_write)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: None)  # the byte in the wake-up pipe is what counts
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    if os.getppid() != options.parent:  # gone before we were there
        _remove(options.remove)
        return 1
    os.nice(options.nice)
    java = _spawn(options)
    _tell(f"pid {java.pid}", options)
    try:
        orphaned = _watch(java, options, wake_read)
    finally:
        java.kill()  # does nothing to a process that has been waited for
        code = java.wait()
    if orphaned:
        _remove(options.remove)
    _tell(f"exit {code}", options)
    return code if code >= 0 else 128 - code


def _spawn(options: argparse.Namespace) -> subprocess.Popen[bytes]:
    if options.follow:
        return subprocess.Popen(options.command)  # noqa: S603 - the command line is our parent's
    with Path(options.log).open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - as above
            options.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )


def _watch(java: subprocess.Popen[bytes], options: argparse.Namespace, wake_read: int) -> bool:
    """Wait until Java ended (False) or nobody needs it any more (True)."""
    orders = 0
    inputs = [wake_read] if options.follow else [wake_read, orders]
    while java.poll() is None:
        readable, _, _ = select.select(inputs, [], [], PARENT_POLL_S)
        if os.getppid() != options.parent:
            return True
        if wake_read in readable and not {signal.SIGTERM, signal.SIGHUP}.isdisjoint(os.read(wake_read, 64)):
            return False  # told to end: so does Java, but the parent is still there to clean up
        if orders in readable:
            received = os.read(orders, 64)
            if not received:
                return True
            if b"k" in received:
                java.kill()
            elif b"t" in received:
                java.terminate()
    return False


def _tell(line: str, options: argparse.Namespace) -> None:
    if not options.follow:
        with suppress(OSError):
            os.write(1, line.encode() + b"\n")


def _remove(directories: list[str]) -> None:
    for directory in directories:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
