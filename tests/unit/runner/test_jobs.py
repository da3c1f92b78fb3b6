"""What ``tests/run.py`` runs side by side: together in time, apart in what is read, gone when it is interrupted."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from rebalance_agent.clock import SystemClock
from support.observer.observing import PATIENCE_S, eventually
from support.runner.jobs import Job, run_jobs

HELP = f"""
import os, signal, sys, time
from pathlib import Path

def wait_for(path):
    for _ in range({PATIENCE_S * 10}):
        if Path(path).exists():
            return
        time.sleep(0.1)
    sys.exit("nobody came")

"""
# A runner of two jobs that say who they are, and never end by themselves.
RUNNER = """
from rebalance_agent.clock import SystemClock
from support.runner.jobs import Job, run_jobs

signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
endless = "import os, sys, time; print('I am', os.getpid(), flush=True); open(sys.argv[1], 'w'); time.sleep(600)"
run_jobs([Job(path, (sys.executable, "-c", endless, path), os.environ) for path in sys.argv[1:]], 2, SystemClock())
"""


def job(name, code, *arguments):
    return Job(name, (sys.executable, "-c", HELP + code, *map(str, arguments)), os.environ)


def statuses(*jobs, at_once):
    return [result.status for result in run_jobs(jobs, at_once, SystemClock())]


def test_jobs_run_at_the_same_time(tmp_path):
    meet = "Path(sys.argv[1]).touch(); wait_for(sys.argv[2])"
    places = tmp_path / "a", tmp_path / "b"
    assert statuses(job("a", meet, *places), job("b", meet, *reversed(places)), at_once=2) == [0, 0]


def test_no_more_of_them_than_may(tmp_path):
    alone = "here = Path(sys.argv[1]); here.mkdir(); time.sleep(0.1); here.rmdir()"  # fails if somebody is here
    assert statuses(*(job(name, alone, tmp_path / "here") for name in "abc"), at_once=1) == [0, 0, 0]


def test_each_ones_output_is_kept_together_in_the_order_of_the_jobs(tmp_path, capfd):
    first = job(
        "a", "wait_for(sys.argv[1]); print('a says', flush=True); print('a warns', file=sys.stderr)", tmp_path / "b"
    )
    second = job("b", "print('b says'); Path(sys.argv[1]).touch(); sys.exit(3)", tmp_path / "b")
    assert statuses(first, second, at_once=2) == [0, 3]
    shown = re.sub(r"[\d.]+ min", "? min", capfd.readouterr().out).splitlines()
    assert shown == ["=== 2 commands, 2 at once", "=== a (? min)", "a says", "a warns", "=== b (? min)", "b says"]


def test_what_runs_alone_is_not_held_back(capfd):
    assert statuses(job("a", "print('a says')"), at_once=2) == [0]
    assert capfd.readouterr().out.splitlines() == ["=== a", "a says"]


@pytest.mark.parametrize(("end", "number"), [(os.killpg, signal.SIGINT), (os.kill, signal.SIGTERM)])
def test_who_ends_the_runner_ends_all_and_sees_what_they_said(tmp_path, end, number):
    places = tmp_path / "a", tmp_path / "b"
    paths = os.pathsep.join(str(Path(__file__).parents[up] / room) for up, room in ((2, ""), (3, "agent")))
    with subprocess.Popen(
        [sys.executable, "-c", HELP + RUNNER, *map(str, places)],
        env={**os.environ, "PYTHONPATH": paths},
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
        text=True,
    ) as runner:
        try:
            eventually(lambda: all(place.exists() for place in places), told="the jobs did not begin")
            end(runner.pid, number)
            said, _ = runner.communicate(timeout=PATIENCE_S)
            assert runner.returncode != 0
            pids = [int(pid) for pid in re.findall(r"I am (\d+)", said)]
            assert len(pids) == 2
            assert not any(map(psutil.pid_exists, pids))
        finally:
            with contextlib.suppress(ProcessLookupError):  # as it should be
                os.killpg(runner.pid, signal.SIGKILL)
