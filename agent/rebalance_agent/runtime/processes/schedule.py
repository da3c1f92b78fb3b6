"""Calls that are repeated, on APScheduler: no call overlaps itself, and missed ones are not made up for.

APScheduler goes by the wall clock alone. When that is set back, by an hour say, it would make no call for an hour; so
it is looked at beside the clock that never runs backwards.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime

from apscheduler.executors.base import BaseExecutor, run_job
from apscheduler.job import Job
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler

from rebalance_agent.clock import Clock
from rebalance_agent.runtime.processes.ticker import Ticker

__all__ = ["Schedule"]

LOOK_S = 1.0
"""How often it is looked whether the wall clock was set back: as long may all calls pause for it."""

SET_BACK_S = 0.5
"""Less than that delays a call by less than that."""


class _Threads(BaseExecutor):  # type: ignore[misc]
    """A thread for each call, so that a poll that waits for a broker holds up no other.

    Nor the end of the process, which waits for the threads of any pool of the standard library. ``wanted``: names of
    calls to begin one of, which is refused while one runs; then ``again`` is asked for it.
    """

    def __init__(self, again: Callable[[Job], None]) -> None:
        super().__init__()
        self.wanted: set[str] = set()
        self._again = again

    def _do_submit_job(self, job: Job, run_times: list[datetime]) -> None:
        self.wanted.discard(job.id)
        threading.Thread(target=self._run, args=[job, run_times], name=job.id, daemon=True).start()

    def _run(self, job: Job, run_times: list[datetime]) -> None:
        self._run_job_success(job.id, run_job(job, "default", run_times, self._logger.name))
        if job.id in self.wanted:
            self._again(job)


class Schedule:
    """Named calls at intervals of their own."""

    def __init__(self, clock: Clock) -> None:
        """Nothing is called before `start`."""
        self._clock = clock
        self._ahead_s = self._ahead()
        self._look = Ticker(LOOK_S, self._look_at_clocks, "clocks", clock)
        # Its executors tell of every single call. That a poll took longer than its interval is ordinary on a busy
        # cluster, and its duration is a metric.
        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        self._threads = _Threads(self._soon)
        self._scheduler = BackgroundScheduler(
            executors={"default": self._threads},
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
            timezone=UTC,
        )

    def every(self, seconds: float, call: Callable[[], None], name: str) -> None:
        """Call at once and then every ``seconds``; ``call`` must not raise."""
        self._scheduler.add_job(call, "interval", seconds=seconds, id=name, next_run_time=self._now())

    def soon(self, name: str) -> None:
        """Call ``name`` now, or again as soon as the call that runs is over, and go on at its interval from there."""
        if job := self._scheduler.get_job(name):
            self._threads.wanted.add(name)
            self._soon(job)

    def _soon(self, job: Job) -> None:
        try:
            job.modify(next_run_time=min(self._now(), job.next_run_time))
        except JobLookupError:
            return  # stopped: nothing is owed

    def start(self) -> None:
        """Begin."""
        self._scheduler.start()
        self._look.start()

    def stop(self) -> None:
        """Begin no more calls; those that run are not waited for."""
        self._look.stop()
        self._scheduler.shutdown(wait=False)

    def _look_at_clocks(self) -> None:
        before_s, self._ahead_s = self._ahead_s, self._ahead()
        if self._ahead_s < before_s - SET_BACK_S:
            for job in self._scheduler.get_jobs():
                self._soon(job)

    def _ahead(self) -> float:
        """Of the clock that never runs backwards, in seconds."""
        return self._clock.now_ms() / 1000 - self._clock.monotonic()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC)
