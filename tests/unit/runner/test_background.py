"""What ``tests/run.py`` has done beside the tiers: out of their way, and gone with them."""

import os
import sys
from threading import Event

import psutil
import pytest

from support.background import LOWEST_PRIORITY, in_background

PATIENCE = 30
# Says who it is and whom it started, and neither ends by itself.
WITH_A_CHILD = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
unfinished = sys.argv[1] + ".unfinished"
with open(unfinished, "w") as file:
    file.write(f"{os.getpid()} {child.pid}")
os.rename(unfinished, sys.argv[1])
time.sleep(600)
"""


def python(code, *arguments):
    return [sys.executable, "-c", code, *map(str, arguments)]


def awaited(path):
    for _ in range(PATIENCE * 10):
        if path.exists():
            return path.read_text()
        Event().wait(0.1)
    raise AssertionError(f"{path} was not written")


def test_the_body_runs_beside_it_and_its_end_ends_all(tmp_path):
    with in_background([python(WITH_A_CHILD, tmp_path / "pids")], os.environ):
        one, child = map(psutil.Process, map(int, awaited(tmp_path / "pids").split()))
        assert one.is_running()
        assert child.is_running()
    gone, alive = psutil.wait_procs([one, child], timeout=PATIENCE)
    assert (len(gone), alive) == (2, [])


def test_it_takes_what_the_others_leave(tmp_path):
    with in_background([python(WITH_A_CHILD, tmp_path / "pids")], os.environ):
        assert {psutil.Process(int(pid)).nice() for pid in awaited(tmp_path / "pids").split()} == {LOWEST_PRIORITY}


def test_who_asks_is_told_how_it_ended():
    with in_background([python("raise SystemExit(3)"), python("pass")], os.environ) as (failed, done):
        assert (failed.wait(PATIENCE), done.wait(PATIENCE)) == (3, 0)


def test_what_is_done_by_then_is_left_alone(tmp_path):
    done = tmp_path / "done"
    with in_background([python("import sys; open(sys.argv[1], 'w').write('done')", done)], os.environ):
        assert awaited(done) == "done"


def test_a_body_that_fails_ends_it_as_well(tmp_path):
    def fails():
        with in_background([python(WITH_A_CHILD, tmp_path / "pids")], os.environ):
            raise KeyError(awaited(tmp_path / "pids"))

    with pytest.raises(KeyError) as error:
        fails()
    one = int(error.value.args[0].split()[0])
    assert not psutil.pid_exists(one)
