"""Writes events as newline-delimited JSON to a file, which is rotated to ``.1``, ``.2``, ... when it is full."""

from __future__ import annotations

import contextlib
import io
import os
import stat
import threading
from collections.abc import Sequence
from pathlib import Path

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.runtime.sinks.queued_sink import DeliveryError

__all__ = ["EventsFile"]

_MODE = 0o640
"""File mode: events name groups, hosts and client ids, which not every user of the machine may read."""


class EventsFile:
    """Appends whole lines to the file. There is no fsync: a line counts as written once the operating system has it.

    At most ``files_max`` files of ``bytes_max`` bytes each are kept, including the current one. A file that other
    programs move or delete (logrotate) is created again.
    """

    def __init__(self, path: str, bytes_max: int, files_max: int) -> None:
        """Check that the file can be written; the first event opens the file again.

        Raises:
            InvalidInputError: ``path`` cannot be opened for appending, or is not a regular file.
        """
        self._path, self._bytes_max, self._files_max = Path(path), bytes_max, files_max
        try:
            self._file = self._open()
        except OSError as error:
            raise InvalidInputError("events_file", f"cannot append to {path}: {error.strerror}") from None
        regular = stat.S_ISREG(os.fstat(self._file.fileno()).st_mode)
        self.close()
        if not regular:
            raise InvalidInputError("events_file", f"{path} is not a regular file")

    def deliver(self, lines: Sequence[bytes], _given_up: threading.Event) -> None:
        """Append ``lines``.

        Raises:
            DeliveryError: a line could not be written in full; no part of that line is left in the file.
        """
        for number, line in enumerate(lines):
            try:
                self._append(line + b"\n")
            except OSError as error:
                raise DeliveryError(f"cannot write to {self._path}: {error.strerror}", range(number)) from error

    def close(self) -> None:
        """Close the file."""
        with contextlib.suppress(OSError):
            self._file.close()

    def _append(self, line: bytes) -> None:
        if self._replaced():
            self._reopen()
        size = self._file.seek(0, io.SEEK_END)
        if size and size + len(line) > self._bytes_max:
            self._rotate()
            size = 0
        try:
            # The file is unbuffered: on a full disk, write() writes only a part of the line, or nothing.
            written = self._file.write(line)
            while written < len(line):
                written += self._file.write(line[written:])
        except OSError:
            with contextlib.suppress(OSError):
                self._file.truncate(size)
            raise

    def _replaced(self) -> bool:
        """Return whether the open file is closed, or no longer the file at its path."""
        try:
            return self._file.closed or not os.path.samestat(self._path.stat(), os.fstat(self._file.fileno()))
        except OSError:
            return True

    def _rotate(self) -> None:
        older_ones = (self._path.with_name(f"{self._path.name}.{number}") for number in range(1, self._files_max))
        names = [self._path, *older_ones]
        if len(names) == 1:
            self._file.truncate(0)
            return
        for older, newer in zip(reversed(names), reversed(names[:-1]), strict=False):
            with contextlib.suppress(FileNotFoundError):
                newer.replace(older)
        self._reopen()

    def _reopen(self) -> None:
        self.close()
        self._file = self._open()

    def _open(self) -> io.FileIO:
        # O_NONBLOCK: opening a named pipe, which is refused afterwards, must not block.
        return io.FileIO(self._path, "a", opener=lambda path, flags: os.open(path, flags | os.O_NONBLOCK, _MODE))
