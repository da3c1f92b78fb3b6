"""Background work of ``tests/run.py``: it does not disturb the tiers, and ends with them."""

import contextlib
import os
import sys

import psutil
import pytest

from support.observer.observing import PATIENCE_S, eventually
from support.runner.background import NICENESS, in_background

# Prints its process id and that of its child; neither ends by itself.
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
    return eventually(lambda: path.exists() and path.read_text(), waiting_for=f"{path} was not written")


@pytest.fixture
def named():
    """The processes listed in a file, once it exists; remaining ones are killed after the test."""
    found = []

    def processes(path):
        found.extend(psutil.Process(int(pid)) for pid in awaited(path).split())
        return found

    try:
        yield processes
    finally:
        for each in found:
            with contextlib.suppress(psutil.NoSuchProcess):
                each.kill()


def test_background_work_runs_during_the_body_and_ends_with_it(tmp_path, named):
    with in_background([python(WITH_A_CHILD, tmp_path / "pids")], os.environ):
        one, child = named(tmp_path / "pids")
        assert one.is_running()
        assert child.is_running()
    gone, alive = psutil.wait_procs([one, child], timeout=PATIENCE_S)
    assert (len(gone), alive) == (2, [])


def test_background_work_has_low_priority(tmp_path, named):
    with in_background([python(WITH_A_CHILD, tmp_path / "pids")], os.environ):
        assert [each.nice() for each in named(tmp_path / "pids")] == [NICENESS, NICENESS]


def test_each_caller_gets_the_result():
    with in_background([python("raise SystemExit(3)"), python("pass")], os.environ) as (failed, done):
        assert (failed.wait(PATIENCE_S), done.wait(PATIENCE_S)) == (3, 0)


def test_finished_work_is_not_ended_again(tmp_path):
    done = tmp_path / "done"
    with in_background([python("import sys; open(sys.argv[1], 'w').write('done')", done)], os.environ):
        assert awaited(done) == "done"


def test_a_failing_body_also_ends_background_work(tmp_path, named):
    def fails():
        with in_background([python(WITH_A_CHILD, tmp_path / "pids")], os.environ):
            raise KeyError(*named(tmp_path / "pids"))

    with pytest.raises(KeyError) as error:
        fails()
    one, _ = error.value.args
    assert not one.is_running()
