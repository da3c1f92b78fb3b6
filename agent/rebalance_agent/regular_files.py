"""Opens files whose path may lead to anything else by now: only regular files, and without waiting."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import BinaryIO

__all__ = ["regular_file", "same_file"]


@contextlib.contextmanager
def regular_file(path: str) -> Iterator[BinaryIO]:
    """Open the regular file ``path`` for reading; follow links.

    Raises:
        OSError: it cannot be read, or is not a regular file: a FIFO waits for its writer, and a device may never end.
    """
    with open(path, "rb", opener=_open_at_once) as file:
        # Checks the open file and not the path: nothing can replace the file in between.
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a regular file", path)
        yield file


def same_file(file: BinaryIO) -> str:
    """Return a path to an open file, for libraries that open files themselves, valid even if its own path changes."""
    return f"/dev/fd/{file.fileno()}"


def _open_at_once(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK | os.O_NOCTTY)
