"""Commands that run in the background of other work."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import psutil

NICENESS = 3
"""Niceness of the commands, the same as of tests that compute. With a low priority a build gets nearly no processor
time beside other programs, and the tests that wait for it exceed their time limit."""

SESSION_NICENESS = 3
"""The same for the whole session, where Linux shares the processors between sessions first."""

END_S = 10.0


@contextlib.contextmanager
def in_background(
    commands: Iterable[Sequence[str]], environment: Mapping[str, str]
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run commands at the priority `NICENESS` during the block; its end terminates running ones.

    Yields the process of each command. Their output is dropped: a test that needs a missing result reports it.
    """
    running: list[subprocess.Popen[bytes]] = []
    try:
        for command in commands:
            process = subprocess.Popen(
                command,
                env=dict(environment),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,  # so that child processes end with it
            )
            running.append(process)
            _give_way(process.pid)
        yield running
    finally:
        for process in running:
            _end(process)


def _give_way(pid: int) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):
        process = psutil.Process(pid)
        _lower(process)
        for child in process.children(recursive=True):  # started before its parent was lowered
            _lower(child)
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(SESSION_NICENESS), encoding="ascii")


def _lower(process: psutil.Process) -> None:
    with contextlib.suppress(psutil.Error):  # the process has ended, or the system does not permit it
        process.nice(NICENESS)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_S)
            return
