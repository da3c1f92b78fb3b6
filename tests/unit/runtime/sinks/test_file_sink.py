"""Events to a file: whole lines, bounded size, and no loss if another program moves the file."""

from __future__ import annotations

import os
import resource
import tempfile
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.runtime.sinks.file_sink import EventsFile
from rebalance_agent.runtime.sinks.queued_sink import DeliveryError

NEVER = threading.Event()


def write(file, *lines):
    file.deliver(lines, NEVER)


def test_lines_are_appended_to_an_existing_file(tmp_path):
    path = tmp_path / "events.ndjson"
    path.write_bytes(b"old\n")
    file = EventsFile(str(path), 1_000, 2)
    write(file, b"one", b"two")
    file.close()
    assert path.read_bytes() == b"old\none\ntwo\n"


def test_a_full_file_is_renamed_and_the_oldest_is_deleted(tmp_path):
    file = EventsFile(str(tmp_path / "e"), 8, 3)
    write(file, *(b"%07d" % number for number in range(5)))
    file.close()
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "e": b"0000004\n",
        "e.1": b"0000003\n",
        "e.2": b"0000002\n",
    }


@pytest.mark.parametrize("gone", [lambda path: path.rename(f"{path}.away"), Path.unlink])
def test_a_file_moved_or_deleted_by_others_is_created_again(tmp_path, gone):
    path = tmp_path / "e"
    file = EventsFile(str(path), 1_000, 2)
    write(file, b"one")
    gone(path)
    write(file, b"two")
    file.close()
    assert path.read_bytes() == b"two\n"


def test_after_a_full_disk_the_file_has_whole_lines_and_later_ones_are_written(tmp_path):
    path, full = tmp_path / "e", 1 << 20
    with path.open("wb") as made:
        made.truncate(full - 6)
    file = EventsFile(str(path), 1 << 30, 2)
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (full, hard))
        with pytest.raises(DeliveryError, match=r"cannot write to .*: File too large") as failed:
            write(file, b"one", b"two and more")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert [*failed.value.delivered] == [0]
    write(file, b"three")
    file.close()
    assert path.read_bytes().lstrip(b"\0") == b"one\nthree\n"


def test_a_deleted_folder_is_an_error_that_does_not_end_the_sink(tmp_path):
    folder = tmp_path / "logs"
    folder.mkdir()
    file = EventsFile(str(folder / "e"), 1_000, 2)
    (folder / "e").unlink()
    folder.rmdir()
    with pytest.raises(DeliveryError, match="No such file"):
        write(file, b"one")
    folder.mkdir()
    write(file, b"two")
    file.close()
    assert (folder / "e").read_bytes() == b"two\n"


def test_a_path_that_cannot_be_appended_to_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "fifo")
    for path, problem in (
        (tmp_path / "no" / "e", "No such file"),
        (tmp_path, "Is a directory"),
        (tmp_path / "fifo", "No such device"),
        (Path(os.devnull), "not a regular file"),
    ):
        with pytest.raises(InvalidInputError, match=rf"^events_file: .*{problem}"):
            EventsFile(str(path), 1_000, 2)


def test_other_users_cannot_read_the_file(tmp_path):
    EventsFile(str(tmp_path / "e"), 1_000, 2)
    assert (tmp_path / "e").stat().st_mode & 0o007 == 0


@given(st.lists(st.integers(1, 40), max_size=40), st.integers(1, 100), st.integers(1, 5))
def test_files_are_bounded_and_contain_the_newest_lines_in_order(sizes, bytes_max, files_max):
    lines = [(f"{number}-".encode() * size)[:size] for number, size in enumerate(sizes)]
    with tempfile.TemporaryDirectory() as folder:
        file = EventsFile(f"{folder}/e", bytes_max, files_max)
        write(file, *lines)
        file.close()
        found = sorted(Path(folder).iterdir(), key=lambda path: int(path.suffix[1:] or 0))
        texts = [path.read_bytes() for path in reversed(found)]
    kept = b"".join(texts).splitlines()
    assert len(texts) <= files_max
    assert all(len(text) <= bytes_max or text.count(b"\n") == 1 for text in texts)
    assert kept == lines[len(lines) - len(kept) :]
    assert bool(kept) == bool(lines)
