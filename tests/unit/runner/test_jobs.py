"""Parallel commands of ``tests/run.py``: their outputs are separate, and an interruption ends them all."""

import contextlib
import os
import re
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from rebalance_agent.clock import SystemClock
from support.observer.observing import PATIENCE_S, eventually
from support.runner.jobs import LOWEST_PRIORITY, Job, Lane, run_jobs

HELP = f"""
import os, signal, subprocess, sys, time
from pathlib import Path

def wait_for(path):
    for _ in range({PATIENCE_S * 10}):
        if Path(path).exists():
            return
        time.sleep(0.1)
    sys.exit("nobody came")

"""
# A runner of two jobs that print their process ids and never end by themselves.
RUNNER = """
from rebalance_agent.clock import SystemClock
from support.runner.jobs import Job, Lane, run_jobs

signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
endless = "import os, sys, time; print('I am', os.getpid(), flush=True); open(sys.argv[1], 'w'); time.sleep(600)"
jobs = [Job(path, (sys.executable, "-c", endless, path), os.environ, Lane(2)) for path in sys.argv[1:]]
run_jobs(jobs, SystemClock())
"""


ONE = Lane(1)


def job(name, code, *arguments, lane=ONE):
    return Job(name, (sys.executable, "-c", HELP + code, *map(str, arguments)), os.environ, lane)


def statuses(*jobs, at_once):
    return statuses_of(*(replace(each, lane=Lane(at_once)) for each in jobs))


def statuses_of(*jobs):
    return [result.status for result in run_jobs(jobs, SystemClock())]


def test_jobs_run_at_the_same_time(tmp_path):
    meet = "Path(sys.argv[1]).touch(); wait_for(sys.argv[2])"
    places = tmp_path / "a", tmp_path / "b"
    assert statuses(job("a", meet, *places), job("b", meet, *reversed(places)), at_once=2) == [0, 0]


def test_at_most_the_allowed_number_of_jobs_run_at_the_same_time(tmp_path):
    alone = "here = Path(sys.argv[1]); here.mkdir(); time.sleep(0.1); here.rmdir()"  # fails if another job is running
    assert statuses(*(job(name, alone, tmp_path / "here") for name in "abc"), at_once=1) == [0, 0, 0]


def test_a_job_of_a_whole_lane_runs_alone_in_it_and_is_not_overtaken(tmp_path):
    first, whole = tmp_path / "first", tmp_path / "whole"
    two = Lane(2)
    slow = job("a", "time.sleep(0.2); Path(sys.argv[1]).touch()", first, lane=two)
    after = "sys.exit(not Path(sys.argv[1]).exists())"  # succeeds if the other job has ended
    alone = job("b", f"time.sleep(0.2); Path(sys.argv[2]).touch(); {after}", first, whole, lane=two)
    last = job("c", after, whole, lane=two)
    assert statuses_of(slow, replace(alone, slots=2), last) == [0, 0, 0]


def test_a_full_lane_does_not_delay_other_lanes(tmp_path):
    last = tmp_path / "last"
    other = Lane(1, niceness=1)
    waits = job("a", "wait_for(sys.argv[1])", last, lane=ONE)
    assert statuses_of(
        waits,
        replace(waits, name="b"),
        job("c", "", lane=other),
        job("d", "Path(sys.argv[1]).touch()", last, lane=other),
    ) == [0, 0, 0, 0]


def test_a_job_runs_at_the_priority_of_its_lane():
    own = os.nice(0)
    lower = min(own + 7, LOWEST_PRIORITY)
    # The priority is lowered when the process exists, which may be shortly after its start.
    code = "[time.sleep(0.1) for _ in range(100) if os.nice(0) != int(sys.argv[1])]; sys.exit(os.nice(0))"
    jobs = job("a", code, lower, lane=Lane(1, niceness=7)), job("b", "sys.exit(os.nice(0))", lane=ONE)
    assert statuses_of(*jobs) == [lower, own]


def test_the_processor_time_of_a_job_includes_its_child_processes():
    burn = "import time\nwhile time.process_time() < 0.5: pass"
    idle = job("idle", "time.sleep(0.5)")
    busy = job("busy", f"subprocess.run([sys.executable, '-c', {burn!r}], check=True)")
    waited, burnt = run_jobs([idle, busy], SystemClock())
    assert burnt.cpu >= 0.5
    assert waited.cpu < 0.5 <= waited.ended - waited.began


def test_the_output_of_each_job_is_contiguous_in_the_order_of_jobs(tmp_path, capfd):
    first = job(
        "a", "wait_for(sys.argv[1]); print('a says', flush=True); print('a warns', file=sys.stderr)", tmp_path / "b"
    )
    second = job("b", "print('b says'); Path(sys.argv[1]).touch(); sys.exit(3)", tmp_path / "b")
    assert statuses(first, second, at_once=2) == [0, 3]
    shown = re.sub(r"[\d.]+ min", "? min", capfd.readouterr().out).splitlines()
    assert shown == ["=== 2 commands, 2 at once", "=== a (? min)", "a says", "a warns", "=== b (? min)", "b says"]


def test_the_output_of_a_single_job_is_not_delayed(capfd):
    assert statuses(job("a", "print('a says')"), at_once=2) == [0]
    assert capfd.readouterr().out.splitlines() == ["=== a", "a says"]


@pytest.mark.parametrize(("end", "number"), [(os.killpg, signal.SIGINT), (os.kill, signal.SIGTERM)])
def test_ending_the_runner_ends_all_jobs_and_shows_their_output(tmp_path, end, number):
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
            eventually(lambda: all(place.exists() for place in places), waiting_for="the jobs did not begin")
            end(runner.pid, number)
            said, _ = runner.communicate(timeout=PATIENCE_S)
            assert runner.returncode != 0
            pids = [int(pid) for pid in re.findall(r"I am (\d+)", said)]
            assert len(pids) == 2
            assert not any(map(psutil.pid_exists, pids))
        finally:
            with contextlib.suppress(ProcessLookupError):  # as expected
                os.killpg(runner.pid, signal.SIGKILL)


def test_a_failed_job_names_its_failed_tests(capfd):
    summary = "FAILED tests/a.py::test_b - assert 1 == 2"
    colored = "\\x1b[31mFAILED\\x1b[0m tests/a.py::\\x1b[1mtest_c\\x1b[0m"
    results = run_jobs(
        [
            replace(
                job("pytest", f"print({summary!r}, '{colored}', 'FAILURES', sep='\\n'); sys.exit(1)"), lane=Lane(2)
            ),
            replace(job("passed", f"print({summary!r})"), lane=Lane(2)),
            replace(job("mypy", "print('a.py: error'); sys.exit(1)"), lane=Lane(2)),
        ],
        SystemClock(),
    )
    assert [result.failures for result in results] == [
        (summary, "FAILED tests/a.py::test_c"),
        (),
        ("mypy",),
    ]
