"""Progress of downloads, as one line on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

__all__ = ["download_progress"]

_MEGABYTE = 1_000_000


@contextmanager
def download_progress(
    title: str, files: int, size: int, target: Path, stream: TextIO | None = None
) -> Iterator[Callable[[int], None]]:
    """Show that ``files`` files of ``size`` bytes together are downloaded to ``target``.

    The block gets a function to call with the bytes of each downloaded file. On a terminal the line is written again
    with each file, elsewhere it is written once, at the start.
    """
    stream = stream or sys.stderr
    live, done = stream.isatty(), 0
    text = f"{title}: downloading {files} files ({size / _MEGABYTE:.0f} MB) to {target}"

    def advance(downloaded: int) -> None:
        nonlocal done
        done += downloaded
        if live:
            print(f"\r{text} {100 * done // max(size, 1)} %", end="", file=stream, flush=True)

    print(f"\r{text}" if live else text, end="" if live else "\n", file=stream, flush=True)
    try:
        yield advance
    finally:
        if live:
            print(file=stream, flush=True)
