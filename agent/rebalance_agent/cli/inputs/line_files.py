"""Files of lines, plain or gzipped, whose every line is bounded."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

from rebalance_agent.errors import InvalidInputError

__all__ = ["lines_of", "open_lines"]


@contextmanager
def open_lines(flag: str, name: str) -> Iterator[BinaryIO]:
    """A file to be read within the block, through gzip if its name ends so.

    Raises:
        InvalidInputError: naming ``flag``: it cannot be opened, or not be read to its end.
    """
    path = Path(name)
    try:
        with cast("BinaryIO", gzip.open(path)) if path.suffix == ".gz" else path.open("rb") as stream:
            yield stream
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInputError(flag, f"{name}: {getattr(error, 'strerror', None) or error}") from None


def lines_of(name: str, stream: BinaryIO, bytes_max: int) -> Iterator[tuple[int, bytes]]:
    """Numbers, from 1, and lines that are not blank.

    Raises:
        InvalidInputError: a line is longer than ``bytes_max``; of it no more was ever held.
    """
    number = 0
    while line := stream.readline(bytes_max + 1):
        number += 1
        if len(line) > bytes_max:
            raise InvalidInputError(f"{name}, line {number}", f"is longer than {bytes_max} bytes")
        if not line.isspace():
            yield number, line
