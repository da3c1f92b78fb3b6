"""Removes, at the end of this process, the empty folder that Spark 4.0 creates in the working directory.

Java uses the folder until Java ends, and Java ends when Python closes Java's standard input. A Java process that
``spark-submit`` started outlives Python; in that case the folder stays.
"""

from __future__ import annotations

import atexit
import subprocess
from contextlib import suppress
from pathlib import Path

from pyspark import SparkContext

__all__ = ["remove_at_exit"]

_FOLDER = "artifacts"

_JAVA_ENDS_S = 30
"""Seconds to wait for Java's end before the folder is removed anyway."""


def remove_at_exit() -> None:
    """Register the removal; call it before a session is created. A folder that exists before Java starts is kept."""
    folder = Path.cwd() / _FOLDER
    if SparkContext._gateway is None and not folder.exists():  # noqa: SLF001 - there is no public way to ask
        atexit.register(_remove, folder)


def _remove(folder: Path) -> None:
    java: subprocess.Popen[bytes] | None = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001
    if java is not None and java.stdin is not None:
        java.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            java.wait(_JAVA_ENDS_S)
    with suppress(OSError):  # the folder does not exist, or another Spark uses it
        folder.rmdir()
