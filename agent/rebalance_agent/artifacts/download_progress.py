"""Progress of downloads, as one line on standard error."""

from __future__ import annotations

import sys
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

__all__ = ["DownloadProgress"]

_MEGABYTE = 1_000_000


class DownloadProgress:
    """Shows that a download runs: on a terminal as a line that is rewritten, elsewhere as one line at the start."""

    def __init__(self, title: str, files: int, size: int, target: Path, stream: TextIO | None = None) -> None:
        """Announce ``files`` files of ``size`` bytes together that go to ``target``."""
        self._text = f"{title}: downloading {files} files ({size / _MEGABYTE:.0f} MB) to {target}"
        self._size = size
        self._done = 0
        self._stream = stream if stream is not None else sys.stderr
        self._live = self._stream.isatty()

    def __enter__(self) -> Self:
        """Show the line."""
        self._write("" if self._live else "\n")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the line."""
        if self._live:
            self._stream.write("\n")
            self._stream.flush()

    def advance(self, size: int) -> None:
        """Add ``size`` bytes to those downloaded."""
        self._done += size
        if self._live:
            self._write(f" {100 * self._done // max(self._size, 1)} %")

    def _write(self, end: str) -> None:
        self._stream.write(("\r" if self._live else "") + self._text + end)
        self._stream.flush()
