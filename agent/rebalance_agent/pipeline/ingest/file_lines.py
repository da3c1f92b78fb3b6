"""Reads lines of local files inside Spark's Python workers, each up to the maximum size of an event.

Spark's own text reader keeps each line whole in Java, so a single compressed line can crash the Java process. If that
reader has a maximum length, it drops longer lines without reporting them.
"""

from __future__ import annotations

import bz2
import gzip
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, NamedTuple, cast

import pyarrow as pa

from rebalance_agent.pipeline.ingest.event_rows import EVENT_BYTES_MAX

__all__ = ["LINES", "PIECES", "FilePiece", "file_lines", "lines_of", "pieces_of"]

PIECES = "path string, begin long, end long, file string"
"""SQL schema of rows of `FilePiece`."""

LINES = "value binary, file string"
"""SQL schema of the rows of `file_lines`."""

_PIECE_BYTES = 32 << 20
"""Bytes of one piece of a file that is not compressed."""

_BATCH_BYTES, _BATCH_LINES = 4 << 20, 500
"""Maximum size of a returned batch; the last line may exceed it."""

_COMPRESSED = (".gz", ".bz2")
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class FilePiece(NamedTuple):
    """The lines of the local file ``path`` that begin at byte ``begin`` or later, and before byte ``end``.

    If ``end`` is None, the piece ends with the file. ``file`` is the file's address in the tables.
    """

    path: str
    begin: int
    end: int | None
    file: str


def pieces_of(path: str, size: int, file: str) -> Iterator[FilePiece]:
    """Yield the pieces of a file of ``size`` bytes; a compressed file is a single piece."""
    begins = [0] if path.endswith(_COMPRESSED) else range(0, max(size, 1), _PIECE_BYTES)
    for begin, end in zip(begins, [*begins[1:], None], strict=True):
        yield FilePiece(path, begin, end, file)


def file_lines(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Read the lines of pieces, from batches of `PIECES` to batches of `LINES`, in the order of the files."""
    for batch in batches:
        for row in batch.to_pylist():
            yield from _batches(FilePiece(**row))


def _batches(piece: FilePiece) -> Iterator[pa.RecordBatch]:
    values: list[bytes] = []
    size = 0
    for line in lines_of(piece):
        values.append(line)
        size += len(line)
        if size >= _BATCH_BYTES or len(values) >= _BATCH_LINES:
            yield _batch(values, piece.file)
            values, size = [], 0
    if values:
        yield _batch(values, piece.file)


def _batch(values: list[bytes], file: str) -> pa.RecordBatch:
    columns: Mapping[str, pa.Array] = {"value": pa.array(values, pa.binary()), "file": pa.array([file] * len(values))}
    return pa.RecordBatch.from_pydict(columns)


def lines_of(piece: FilePiece) -> Iterator[bytes]:
    """Yield the lines of a piece without line breaks; blank lines are left out.

    A line with more than `EVENT_BYTES_MAX` bytes is cut to `EVENT_BYTES_MAX` + 1 bytes, and its rest is skipped. If the
    rest of a compressed file is damaged or missing, the last line is no event, but describes the problem.
    """
    try:
        yield from _lines(piece)
    except (EOFError, zlib.error, OSError) as error:
        if getattr(error, "errno", None) is not None:
            raise  # of the file system
        yield f"the rest of this compressed file cannot be read: {error}".encode()


def _lines(piece: FilePiece) -> Iterator[bytes]:
    with _opened(piece.path) as file:
        position = piece.begin
        if piece.begin:
            # The line that contains the previous byte belongs to the previous piece.
            file.seek(piece.begin - 1)
            position += _pass_over(file) - 1
        while piece.end is None or position < piece.end:
            line = file.readline(EVENT_BYTES_MAX + 1)
            if not line:
                return
            whole = line.removeprefix(_BYTE_ORDER_MARK) if position == 0 else line
            position += len(line)
            if not line.endswith(b"\n"):
                position += _pass_over(file)
            value = whole.removesuffix(b"\n").removesuffix(b"\r")
            if value.strip(b" "):
                yield value


def _opened(path: str) -> IO[bytes]:
    if path.endswith(_COMPRESSED):
        return cast("IO[bytes]", gzip.open(path) if path.endswith(".gz") else bz2.open(path))
    return Path(path).open("rb")


def _pass_over(file: IO[bytes]) -> int:
    """Read up to the end of the line; return the number of bytes."""
    passed = 0
    while part := file.readline(1 << 20):
        passed += len(part)
        if part.endswith(b"\n"):
            break
    return passed
