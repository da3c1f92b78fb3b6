"""A small process that runs one Java process, and ends it when the parent process has ended.

The guard is run by path with ``python -I -S guard.py``, and imports only the standard library. The guard has its own
session, so that a Ctrl-C in the terminal reaches neither the guard nor Java; the parent decides when both end.

The guard detects any end of the parent in two ways:

* its standard input, a pipe that the parent holds open, is at its end;
* ``getppid()`` changes (checked twice a second), in case a forked child of the parent keeps the pipe open.

Then Java gets SIGKILL, and the directories given with ``--remove`` are deleted. The parent's commands are single bytes
on standard input, ``t`` for SIGTERM and ``k`` for SIGKILL. The guard reports on standard output: ``pid N`` when Java
runs, ``exit N`` after it has ended (negative: the signal's number).

With ``--follow`` there is no pipe: Java gets the guard's own standard streams, and the guard exits with Java's status.
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
"""Interval between checks of the parent's process id, in seconds."""


def main() -> int:
    """Run the command until the command or the parent ends; return the command's exit status."""
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
        signal.signal(number, lambda *_: None)  # only the byte in the wake-up pipe is used
    signal.signal(signal.SIGINT, signal.SIG_IGN)

    if os.getppid() != options.parent:  # the parent ended before this process started
        _remove(options.remove)
        return 1
    os.nice(options.nice)
    java = _spawn(options)
    _report(f"pid {java.pid}", options)
    try:
        orphaned = _watch(java, options, wake_read)
    finally:
        java.kill()  # no effect on a process that has been waited for
        code = java.wait()
    if orphaned:
        _remove(options.remove)
    _report(f"exit {code}", options)
    return code if code >= 0 else 128 - code


def _spawn(options: argparse.Namespace) -> subprocess.Popen[bytes]:
    if options.follow:
        return subprocess.Popen(options.command)  # noqa: S603 - the command line is our parent's
    with Path(options.log).open("ab") as log:
        return subprocess.Popen(  # noqa: S603 - as above
            options.command, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )


def _watch(java: subprocess.Popen[bytes], options: argparse.Namespace, wake_read: int) -> bool:
    """Wait until Java (return False) or the parent (return True) has ended."""
    commands = 0
    inputs = [wake_read] if options.follow else [wake_read, commands]
    while java.poll() is None:
        readable, _, _ = select.select(inputs, [], [], PARENT_POLL_S)
        if os.getppid() != options.parent:
            return True
        if wake_read in readable and not {signal.SIGTERM, signal.SIGHUP}.isdisjoint(os.read(wake_read, 64)):
            return False  # a signal to the guard ends Java, too; the parent still runs, and cleans up
        if commands in readable:
            received = os.read(commands, 64)
            if not received:
                return True
            if b"k" in received:
                java.kill()
            elif b"t" in received:
                java.terminate()
    return False


def _report(line: str, options: argparse.Namespace) -> None:
    if not options.follow:
        with suppress(OSError):
            os.write(1, line.encode() + b"\n")


def _remove(directories: list[str]) -> None:
    for directory in directories:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
