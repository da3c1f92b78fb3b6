"""The folder that Spark 4.0 makes where it is started and leaves there, empty: removed when this process ends.

Not earlier: Java has it until it ends, which it does when Python's end of its standard input is closed. Where
``spark-submit`` started Java, that outlives Python, and the folder stays.
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


def remove_at_exit() -> None:
    """To be called before each session is made; only what is not there before Java starts is removed."""
    folder = Path.cwd() / _FOLDER
    if SparkContext._gateway is None and not folder.exists():  # noqa: SLF001 - there is no other word for it
        atexit.register(_remove, folder)


def _remove(folder: Path) -> None:
    java: subprocess.Popen[bytes] | None = getattr(SparkContext._gateway, "proc", None)  # noqa: SLF001
    if java is not None and java.stdin is not None:
        java.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            java.wait(_JAVA_ENDS_S)
    with suppress(OSError):  # not there, or somebody else's Spark uses it
        folder.rmdir()
