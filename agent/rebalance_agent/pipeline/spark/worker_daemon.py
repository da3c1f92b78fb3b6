"""Forks Spark's Python workers in place of ``pyspark.daemon``, which makes tasks cheaper.

Spark puts three archives on the path of its Python processes: its own copies of PySpark and py4j, and the jar of
Spark's core. Before each task, PySpark empties the caches of the import system, and Python 3.11 then reads the
directory of each archive again at once. Reading them took 55 ms, of which the jar took 43 ms; that is more time than a
short task works. Without the archives, Python imports the installed PySpark and need not compile it at each start.

This module is used only for a local Spark, where the workers have the environment of the driver.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable
from pathlib import Path

__all__ = ["archives_below", "main"]


def archives_below(home: Path, path: Iterable[str]) -> set[str]:
    """Return the entries of an import path that are archives in Spark's folder; a user's own archives are not."""
    return {entry for entry in path if Path(entry).suffix in {".jar", ".zip"} and Path(entry).is_relative_to(home)}


def main() -> None:
    """Fork workers until Spark closes the standard input."""
    home = Path(os.environ["SPARK_HOME"])  # Spark sets this variable, and the import path
    for entry in archives_below(home, sys.path):
        sys.path.remove(entry)
    for entry in archives_below(home, sys.path_importer_cache):
        del sys.path_importer_cache[entry]
    from pyspark.daemon import manager  # noqa: PLC0415 - from its folder, since the archives are gone

    manager()  # type: ignore[no-untyped-call]  # PySpark has no types for it


if __name__ == "__main__":
    main()
