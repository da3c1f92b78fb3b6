"""Reads lines from plain or gzipped files and from standard input, each up to a maximum length."""

from __future__ import annotations

import gzip
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, TypeVar, cast

from rebalance_agent.errors import InvalidInputError

__all__ = ["bounded_lines", "open_input", "open_lines", "values_of"]

_Value = TypeVar("_Value")


@contextmanager
def open_input(name: str) -> Iterator[BinaryIO]:
    """Open a file until the end of the block; ``-`` is standard input.

    Raises:
        InvalidInputError: the file cannot be opened.
    """
    if name == "-":
        yield sys.stdin.buffer
        return
    try:
        stream = Path(name).open("rb")  # noqa: SIM115 - closed below; only the error of opening is caught here
    except OSError as error:
        raise InvalidInputError(name, error.strerror or "cannot be read") from None
    with stream:
        yield stream


def bounded_lines(stream: BinaryIO, bytes_max: int) -> Iterator[bytes]:
    """Yield the lines of ``stream``; a line above ``bytes_max`` is cut to ``bytes_max`` + 1, its rest is skipped."""
    while line := stream.readline(bytes_max + 1):
        yield line
        while len(line) > bytes_max and not line.endswith(b"\n"):
            line = stream.readline(bytes_max + 1)


@contextmanager
def open_lines(flag: str, name: str) -> Iterator[BinaryIO]:
    """Open a file until the end of the block; decompress it if its name ends in ``.gz``.

    Raises:
        InvalidInputError: the file cannot be opened, or cannot be read to its end; the error names ``flag``.
    """
    path = Path(name)
    try:
        with cast("BinaryIO", gzip.open(path)) if path.suffix == ".gz" else path.open("rb") as stream:
            yield stream
    except (OSError, EOFError, zlib.error) as error:
        raise InvalidInputError(flag, f"{name}: {getattr(error, 'strerror', None) or error}") from None


def values_of(
    name: str, stream: BinaryIO, bytes_max: int, parse: Callable[[bytes], _Value]
) -> Iterator[tuple[int, _Value]]:
    """Yield the line number (from 1) and the parsed value of each line that is not blank.

    Raises:
        InvalidInputError: a line is longer than ``bytes_max``, or ``parse`` raised this error; names the line.
    """
    for number, line in enumerate(bounded_lines(stream, bytes_max), 1):
        if len(line) > bytes_max:
            raise InvalidInputError(f"{name}, line {number}", f"is longer than {bytes_max} bytes")
        if line.isspace():
            continue
        try:
            value = parse(line)
        except InvalidInputError as error:
            raise InvalidInputError(f"{name}, line {number}", str(error)) from None
        yield number, value
