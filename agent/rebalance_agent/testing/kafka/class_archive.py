"""Builds an archive of a broker's classes (AppCDS, JEP 310), which halves time and CPU of every later Java start.

The archive is built once per cache: the first broker lists the classes that it loads. When this broker is ready, a
background Java process with low priority builds the archive. No caller waits for the archive. If this process ends
first, the build ends too, and the next cluster tries again. Java ignores an archive that does not match its class path.
"""

from __future__ import annotations

import fcntl
import subprocess
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from rebalance_agent.testing.kafka.java_process import guard_command

__all__ = ["build_in_background"]

NICENESS = "10"
"""Niceness of the build."""

ARCHIVES_MAX = 3
"""Maximum number of archives, of 60 MB each, that are kept. There are several only if several environments share a
cache."""


def build_in_background(java: Sequence[str], class_list: Path, archive: Path, environment: dict[str, str]) -> None:
    """Start building ``archive`` from the classes in ``class_list``, unless it exists or is being built.

    ``java`` is the command line up to and including the class path. A failure is ignored, since the archive only saves
    time.
    """
    with suppress(OSError):
        # The list is still being written: its last line may be incomplete.
        names = class_list.read_bytes().rpartition(b"\n")[0] + b"\n"
        threading.Thread(
            target=_build, args=(java, names, archive, environment), name="kafka-class-archive", daemon=True
        ).start()


def _build(java: Sequence[str], names: bytes, archive: Path, environment: dict[str, str]) -> None:
    class_list, unfinished = archive.with_suffix(".classes"), archive.with_suffix(".incoming")
    with suppress(OSError), archive.with_suffix(".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: another process builds the archive
        if archive.exists():
            return
        unfinished.unlink(missing_ok=True)
        class_list.write_bytes(names)
        program, *rest = java
        flags = ("-Xshare:dump", f"-XX:SharedClassListFile={class_list}", f"-XX:SharedArchiveFile={unfinished}")
        done = subprocess.run(  # noqa: S603 - our own command line
            guard_command(["--follow", "--nice", NICENESS], [program, *flags, *rest]),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,
            check=False,
        )
        class_list.unlink(missing_ok=True)
        if done.returncode == 0:
            unfinished.replace(archive)
        others = sorted(archive.parent.glob(f"*{archive.suffix}"), key=lambda path: path.stat().st_mtime, reverse=True)
        for old in others[ARCHIVES_MAX:]:
            old.unlink(missing_ok=True)
