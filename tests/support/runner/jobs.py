"""Runs commands in parallel lanes; each output is shown as a whole, in the order of the commands."""

from __future__ import annotations

import contextlib
import os
import re
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import IO

import psutil

from rebalance_agent.clock import Clock

POLL_S = 0.1
LOWEST_PRIORITY = 19
END_S = 10.0  # pytest takes some seconds to end processes of its fixtures
FAILURE = re.compile(rb"^(?:\x1b\[[\d;]*m)*((?:FAILED|ERROR)\b.*)$", re.MULTILINE)
"""A line of pytest's short summary that names a failed test, with or without colors."""
COLOR = re.compile(rb"\x1b\[[\d;]*m")


@dataclass(frozen=True)
class Lane:
    """Jobs of one kind: at most ``at_once`` run at the same time, with ``niceness``."""

    at_once: int
    niceness: int = 0


@dataclass(frozen=True)
class Job:
    """A command, its display name, its environment, and its lane.

    ``slots``: how many of the lane's ``at_once`` it takes up.
    """

    name: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    lane: Lane
    slots: int = 1


@dataclass(frozen=True)
class Result:
    """The end of a job: its exit status, and its start and end in seconds since the start of the run.

    ``cpu``: seconds of processor time, including child processes that it waited for.
    ``failures``: if it failed, pytest's lines about failed tests, else its name; empty if the output was shown at once.
    """

    status: int
    began: float
    ended: float
    cpu: float
    failures: tuple[str, ...] = ()


def run_jobs(jobs: Sequence[Job], clock: Clock) -> list[Result]:
    """Run every job; the jobs of a lane start in their order. Returns the results in the order of the jobs.

    A single job writes directly to the terminal; the output of parallel jobs is shown job by job, once a job and all
    before it have ended. An early end (Ctrl-C, SIGTERM) first ends the processes and shows their output.
    """
    start = clock.monotonic()
    at_once = sum(lane.at_once for lane in {job.lane for job in jobs})
    live = at_once == 1 or len(jobs) == 1
    if not live:
        print(f"=== {len(jobs)} commands, {at_once} at once", flush=True)
    runs: dict[int, _Run] = {}  # by the job's index
    shown = 0
    try:
        while shown < len(jobs):
            for index in _due(jobs, runs):
                runs[index] = _Run(jobs[index], clock, live=live)
            if running := [run for run in runs.values() if not run.over()]:
                running[0].wait(POLL_S)
            while shown in runs and runs[shown].over():
                runs[shown].show()
                shown += 1
    except BaseException as error:
        # The terminal sends Ctrl-C to the whole process group, so the jobs end themselves and clean up.
        for run in runs.values():
            run.end(END_S if isinstance(error, KeyboardInterrupt) else 0.0)
        for index in sorted(runs):
            runs[index].show()
        raise
    return [run.result(start) for _, run in sorted(runs.items())]


def failures_in(output: bytes) -> tuple[str, ...]:
    """The lines of a pytest's short summary that name failed tests."""
    return tuple(COLOR.sub(b"", line).decode(errors="replace").rstrip() for line in FAILURE.findall(output))


def _due(jobs: Sequence[Job], runs: Mapping[int, _Run]) -> Iterator[int]:
    """The indexes of jobs to start now; a job without a free slot blocks the later ones of its lane."""
    free = {job.lane: job.lane.at_once for job in jobs}
    for index, run in runs.items():
        if not run.over():
            free[jobs[index].lane] -= jobs[index].slots
    for index, job in enumerate(jobs):
        if index not in runs:
            free[job.lane] -= job.slots
            if free[job.lane] >= 0:
                yield index


class _Run:
    """A job's process; ``live``: its output goes directly to that of this process."""

    def __init__(self, job: Job, clock: Clock, *, live: bool) -> None:
        self.began = self.ended = clock.monotonic()
        self.cpu = 0.0
        self._job, self._clock, self._pause = job, clock, threading.Event()
        self._output: IO[bytes] | None = None
        self._failures: tuple[str, ...] = ()
        if live:
            print(f"=== {job.name}", flush=True)
        else:
            self._output = tempfile.TemporaryFile()  # noqa: SIM115 - closed when it has been shown
        self.process = subprocess.Popen(
            job.arguments,
            env=dict(job.environment),
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=self._output and subprocess.STDOUT,
        )
        if job.lane.niceness:
            with contextlib.suppress(psutil.Error):  # the process has ended, or the system does not permit it
                psutil.Process(self.process.pid).nice(min(LOWEST_PRIORITY, psutil.Process().nice() + job.lane.niceness))

    def over(self) -> bool:
        """Whether the process has ended; the first call afterwards stores the time."""
        if self.process.returncode is None:
            pid, status, usage = os.wait4(self.process.pid, os.WNOHANG)
            if pid:
                self.process.returncode = os.waitstatus_to_exitcode(status)
                self.ended, self.cpu = self._clock.monotonic(), usage.ru_utime + usage.ru_stime
        return self.process.returncode is not None

    def wait(self, seconds: float) -> None:
        """Wait for its end, at most for the given time."""
        end = self._clock.monotonic() + seconds
        while not self.over() and self._clock.monotonic() < end:
            self._pause.wait(POLL_S)

    def result(self, start: float) -> Result:
        """Its result, in seconds since ``start``."""
        return Result(self.process.returncode, self.began - start, self.ended - start, self.cpu, self._failures)

    def end(self, patience: float) -> None:
        """Wait ``patience`` seconds for its end; then terminate it, and then kill it."""
        self.wait(patience)
        for signal in (self.process.terminate, self.process.kill):
            if not self.over():
                signal()
                self.wait(END_S)

    def show(self) -> None:
        """Write its output, once."""
        if self._output is None:
            return
        minutes = (self._clock.monotonic() - self.began if not self.over() else self.ended - self.began) / 60
        print(f"=== {self._job.name} ({minutes:.1f} min)", flush=True)
        self._output.seek(0)
        output = self._output.read()
        sys.stdout.buffer.write(output)
        sys.stdout.flush()
        self._failures = (failures_in(output) or (self._job.name,)) if self.process.returncode else ()
        self._output.close()
        self._output = None
