"""A class archive (JEP 310, AppCDS) of what a broker loads: halves the time and the CPU of every later Java start.

Made once per cache: the first broker lists the classes it loads, and when it is ready a Java process in the
background, at low priority, turns the list into an archive. Nobody waits for it. If this process ends before it is
done, it ends too and the next cluster tries again. Java itself refuses an archive that does not fit its class path.
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
ARCHIVES_MAX = 3  # of 60 MB each; more than one only when several environments share a cache


def build_in_background(java: Sequence[str], class_list: Path, archive: Path, environment: dict[str, str]) -> None:
    """Make ``archive`` of the classes in ``class_list``, unless it exists or someone is at it; returns at once.

    ``java`` is the command line up to and including the class path. A failure leaves things as they are: the archive
    only saves time.
    """
    with suppress(OSError):
        # The list is still being written: what comes after its last line end is half a name.
        names = class_list.read_bytes().rpartition(b"\n")[0] + b"\n"
        threading.Thread(
            target=_build, args=(java, names, archive, environment), name="kafka-class-archive", daemon=True
        ).start()


def _build(java: Sequence[str], names: bytes, archive: Path, environment: dict[str, str]) -> None:
    class_list, unfinished = archive.with_suffix(".classes"), archive.with_suffix(".incoming")
    with suppress(OSError), archive.with_suffix(".lock").open("ab") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)  # BlockingIOError: another process makes it
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
