"""Reads files of lines, plain or gzipped, with a bound on the length of a line."""

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
    """Open a file for the block, through gzip if its name ends in ``.gz``.

    Raises:
        InvalidInputError: the file cannot be opened or read to its end; the error names ``flag``.
    """
    path = Path(name)
    try:
        with cast("BinaryIO", gzip.open(path)) if path.suffix == ".gz" else path.open("rb") as stream:
            yield stream
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInputError(flag, f"{name}: {getattr(error, 'strerror', None) or error}") from None


def lines_of(name: str, stream: BinaryIO, bytes_max: int) -> Iterator[tuple[int, bytes]]:
    """(number from 1, line) of the lines that are not blank.

    Raises:
        InvalidInputError: a line is longer than ``bytes_max``; the rest of it is not read.
    """
    number = 0
    while line := stream.readline(bytes_max + 1):
        number += 1
        if len(line) > bytes_max:
            raise InvalidInputError(f"{name}, line {number}", f"is longer than {bytes_max} bytes")
        if not line.isspace():
            yield number, line
