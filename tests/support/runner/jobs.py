"""Commands side by side: so many at once, the output of each kept together and shown in the order of the commands."""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import IO

from rebalance_agent.clock import Clock

POLL_S = 0.1
END_S = 10.0  # pytest takes some seconds to end what its fixtures started


@dataclass(frozen=True)
class Job:
    """A command, what it is called where people read, and its environment."""

    name: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]


@dataclass(frozen=True)
class Result:
    """How a job ended: its exit status, and seconds since the start of all at which it began and ended."""

    status: int
    began: float
    ended: float


def run_jobs(jobs: Sequence[Job], at_once: int, clock: Clock) -> list[Result]:
    """Run every job, ``at_once`` at a time, begun in their order; return the results in that order.

    What runs alone writes to the terminal as it goes; the output of jobs that run side by side is shown job by job, as
    soon as one has ended and all before it. Whatever ends this early (Ctrl-C, SIGTERM) ends the processes first and
    shows what they said.
    """
    start = clock.monotonic()
    live = at_once == 1 or len(jobs) == 1
    if not live:
        print(f"=== {len(jobs)} commands, {at_once} at once", flush=True)
    runs: list[_Run] = []
    shown = 0
    try:
        while shown < len(jobs):
            while len(runs) < len(jobs) and sum(not each.over() for each in runs) < at_once:
                runs.append(_Run(jobs[len(runs)], clock, live=live))
            runs[shown].wait(POLL_S)
            while shown < len(runs) and runs[shown].over():
                runs[shown].show()
                shown += 1
    except BaseException as error:
        # The terminal sends Ctrl-C to the whole process group: who was sent it ends by itself, and tidies up.
        for each in runs:
            each.end(END_S if isinstance(error, KeyboardInterrupt) else 0.0)
        for each in runs[shown:]:
            each.show()
        raise
    return [Result(each.process.returncode, each.began - start, each.ended - start) for each in runs]


class _Run:
    """A job's process; ``live`` if its output goes straight to ours."""

    def __init__(self, job: Job, clock: Clock, *, live: bool) -> None:
        self.began = self.ended = clock.monotonic()
        self._job, self._clock, self._over = job, clock, False
        self._output: IO[bytes] | None = None
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

    def over(self) -> bool:
        """Whether the process has ended; the first call after that says when."""
        if not self._over and self.process.poll() is not None:
            self._over, self.ended = True, self._clock.monotonic()
        return self._over

    def wait(self, seconds: float) -> None:
        """Wait for its end, but no longer than that."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.process.wait(seconds)

    def end(self, patience: float) -> None:
        """Let it end by itself within ``patience`` seconds; then it is told to, and then it is killed."""
        self.wait(patience)
        for signal in (self.process.terminate, self.process.kill):
            if not self.over():
                signal()
                self.wait(END_S)

    def show(self) -> None:
        """Write what it said, once."""
        if self._output is None:
            return
        minutes = (self._clock.monotonic() - self.began if not self._over else self.ended - self.began) / 60
        print(f"=== {self._job.name} ({minutes:.1f} min)", flush=True)
        self._output.seek(0)
        sys.stdout.buffer.write(self._output.read())
        sys.stdout.flush()
        self._output.close()
        self._output = None
