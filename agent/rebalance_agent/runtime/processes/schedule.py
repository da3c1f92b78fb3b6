"""Repeated calls, on APScheduler: no call overlaps itself, and missed calls are not repeated.

APScheduler uses the wall clock alone, and would make no call for an hour after that is set back by an hour; so the
wall clock is compared with the monotonic clock.
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
"""Seconds between two comparisons of the clocks: the longest pause of all calls after the wall clock is set back."""

SET_BACK_S = 0.5
"""Smallest step back of the wall clock, in seconds, that is acted on: a smaller one delays calls by no more."""


class _Threads(BaseExecutor):  # type: ignore[misc]
    """Runs each call in a daemon thread of its own, so that a poll that waits for a broker delays no other.

    Nor does it delay the end of the process, which waits for the threads of any pool of the standard library.
    ``requested``: names of calls to start soon. Where one is running, ``again`` is called with its job afterwards.
    """

    def __init__(self, again: Callable[[Job], None]) -> None:
        super().__init__()
        self.requested: set[str] = set()
        self._again = again

    def _do_submit_job(self, job: Job, run_times: list[datetime]) -> None:
        self.requested.discard(job.id)
        threading.Thread(target=self._run, args=[job, run_times], name=job.id, daemon=True).start()

    def _run(self, job: Job, run_times: list[datetime]) -> None:
        self._run_job_success(job.id, run_job(job, "default", run_times, self._logger.name))
        if job.id in self.requested:
            self._again(job)


class Schedule:
    """Named calls, each at its own interval."""

    def __init__(self, clock: Clock) -> None:
        """Nothing is called before `start`."""
        self._clock = clock
        self._ahead_s = self._ahead()
        self._look = Ticker(LOOK_S, self._look_at_clocks, "clocks", clock)
        # APScheduler logs every call, and every poll that takes longer than its interval. That is ordinary on a busy
        # cluster, and a poll's duration is a metric.
        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        self._threads = _Threads(self._soon)
        self._scheduler = BackgroundScheduler(
            executors={"default": self._threads},
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
            timezone=UTC,
        )

    def every(self, seconds: float, call: Callable[[], None], name: str) -> None:
        """Call ``call`` at the start and then every ``seconds``; it must not raise."""
        self._scheduler.add_job(call, "interval", seconds=seconds, id=name, next_run_time=self._now())

    def soon(self, name: str) -> None:
        """Make the call ``name`` now, or again after the one that runs; then continue at its interval."""
        if job := self._scheduler.get_job(name):
            self._threads.requested.add(name)
            self._soon(job)

    def _soon(self, job: Job) -> None:
        try:
            job.modify(next_run_time=min(self._now(), job.next_run_time))
        except JobLookupError:
            return  # the schedule has stopped

    def start(self) -> None:
        """Start the calls."""
        self._scheduler.start()
        self._look.start()

    def stop(self) -> None:
        """Make no more calls; running ones are not waited for."""
        self._look.stop()
        self._scheduler.shutdown(wait=False)

    def _look_at_clocks(self) -> None:
        before_s, self._ahead_s = self._ahead_s, self._ahead()
        if self._ahead_s < before_s - SET_BACK_S:
            for job in self._scheduler.get_jobs():
                self._soon(job)

    def _ahead(self) -> float:
        """Seconds by which the wall clock is ahead of the monotonic clock."""
        return self._clock.now_ms() / 1000 - self._clock.monotonic()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC)
