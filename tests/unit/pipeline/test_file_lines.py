"""Lines of files are read once for any sizes of pieces; only the beginning of too long lines is kept."""

from __future__ import annotations

import bz2
import gzip
import random

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.pipeline.ingest import file_lines as module
from rebalance_agent.pipeline.ingest.file_lines import FilePiece, file_lines, lines_of, pieces_of

WRITERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress}


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(module, "EVENT_BYTES_MAX", 10)
    monkeypatch.setattr(module, "_PIECE_BYTES", 7)


def read(path):
    return [line for piece in pieces_of(str(path), path.stat().st_size, "f") for line in lines_of(piece)]


def expected(content):
    """The lines that a reader of the whole file finds."""
    values = [line.removesuffix(b"\r") for line in content.removeprefix(b"\xef\xbb\xbf").split(b"\n")]
    return [value[:11] for value in values if value.strip(b" ")]


@pytest.mark.parametrize("ending", WRITERS)
@given(
    content=st.lists(st.sampled_from([b"\n", b"\r\n", b" ", b"ab", b"0123456789", b"x" * 40, b"\xff"])).map(b"".join)
)
def test_each_line_is_read_once_for_any_pieces(tmp_path_factory, ending, content):
    path = tmp_path_factory.getbasetemp() / f"events.ndjson{ending}"
    path.write_bytes(WRITERS[ending](content))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "EVENT_BYTES_MAX", 10)
        patch.setattr(module, "_PIECE_BYTES", 7)
        # A carriage return may be cut off with the rest of a long line.
        assert [line.removesuffix(b"\r") for line in read(path)] == [
            line.removesuffix(b"\r") for line in expected(content)
        ]


@pytest.mark.parametrize("ending", WRITERS)
@pytest.mark.usefixtures("small")
def test_a_byte_order_mark_is_no_part_of_the_first_line(tmp_path, ending):
    path = tmp_path / f"events.ndjson{ending}"
    path.write_bytes(WRITERS[ending](b"\xef\xbb\xbfone\n\xef\xbb\xbftwo\n"))
    assert read(path) == [b"one", b"\xef\xbb\xbftwo"]


@pytest.mark.usefixtures("small")
def test_only_uncompressed_files_are_read_in_pieces():
    assert [piece.begin for piece in pieces_of("/a.ndjson.1", 15, "f")] == [0, 7, 14]
    assert list(pieces_of("/a.ndjson.gz", 15, "f")) == [FilePiece("/a.ndjson.gz", 0, None, "f")]
    assert list(pieces_of("/a.ndjson", 0, "f")) == [FilePiece("/a.ndjson", 0, None, "f")]


def test_batches_are_bounded_by_bytes_and_have_the_files_address(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "_BATCH_BYTES", 20)
    path = tmp_path / "events.ndjson"
    path.write_bytes(b"0123456789\n" * 5)
    piece = FilePiece(str(path), 0, None, "file:/there")
    batches = list(file_lines([pa.RecordBatch.from_pylist([piece._asdict()])]))
    assert [batch.num_rows for batch in batches] == [2, 2, 1]
    assert {row["file"] for batch in batches for row in batch.to_pylist()} == {"file:/there"}


LINES = [f"{number:05} {random.Random(number).random()}".encode() for number in range(20_000)]


@pytest.mark.parametrize("ending", [".gz", ".bz2"])
@pytest.mark.parametrize("damage", ["cut", "flipped", "no header"])
def test_a_damaged_compressed_file_ends_with_a_line_that_describes_the_problem(tmp_path, ending, damage):
    data = WRITERS[ending](b"\n".join(LINES))
    half = len(data) // 2
    path = tmp_path / f"events.ndjson{ending}"
    damaged = {"cut": data[:half], "flipped": data[:half] + bytes(64) + data[half + 64 :], "no header": b"\xff" * 999}
    path.write_bytes(damaged[damage])
    *lines, last = read(path)
    assert last.startswith(b"the rest of this compressed file cannot be read: ")
    if damage == "cut":
        assert lines == LINES[: len(lines)]


def test_an_error_of_the_file_system_is_no_line(tmp_path):
    with pytest.raises(FileNotFoundError):
        list(lines_of(FilePiece(str(tmp_path / "none.gz"), 0, None, "f")))
