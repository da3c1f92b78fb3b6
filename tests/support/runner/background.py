"""Work that runs at a later time, in the background of other work."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import psutil

LOWEST_PRIORITY = 19
END_S = 10.0


@contextlib.contextmanager
def in_background(
    commands: Iterable[Sequence[str]], environment: Mapping[str, str]
) -> Iterator[list[subprocess.Popen[bytes]]]:
    """Run commands at low priority during the block; its end ends all running ones.

    The body gets a process for each. Nobody hears what they say: who needs their work finds that it is not there.
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
                start_new_session=True,  # with all that it starts
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
        for child in process.children(recursive=True):  # started before it was told
            _lower(child)
    # Where Linux shares the processors between sessions first, it is the session's priority that counts.
    with contextlib.suppress(OSError):
        Path(f"/proc/{pid}/autogroup").write_text(str(LOWEST_PRIORITY), encoding="ascii")


def _lower(process: psutil.Process) -> None:
    with contextlib.suppress(psutil.Error):  # it is over already, or this system does not let us
        process.nice(LOWEST_PRIORITY)
        if psutil.LINUX:
            process.ionice(psutil.IOPRIO_CLASS_IDLE)


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is not None:
        return
    for number in (signal.SIGTERM, signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, number)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(END_S)
            return
