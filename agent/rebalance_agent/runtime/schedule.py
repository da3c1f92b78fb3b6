"""Calls that are repeated, on APScheduler: no call overlaps itself, and missed ones are not made up for."""

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

__all__ = ["Schedule"]


class _Threads(BaseExecutor):  # type: ignore[misc]
    """A thread for each call, so that a poll that waits for a broker holds up no other.

    Nor the end of the process, which waits for the threads of any pool of the standard library.
    """

    def _do_submit_job(self, job: Job, run_times: list[datetime]) -> None:
        threading.Thread(target=self._run, args=[job, run_times], name=job.id, daemon=True).start()

    def _run(self, job: Job, run_times: list[datetime]) -> None:
        self._run_job_success(job.id, run_job(job, "default", run_times, self._logger.name))


class Schedule:
    """Named calls at intervals of their own."""

    def __init__(self, clock: Clock) -> None:
        """Nothing is called before `start`."""
        self._clock = clock
        # Its executors tell of every single call. That a poll took longer than its interval is ordinary on a busy
        # cluster, and its duration is a metric.
        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        self._scheduler = BackgroundScheduler(
            executors={"default": _Threads()},
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
            timezone=UTC,
        )

    def every(self, seconds: float, call: Callable[[], None], name: str) -> None:
        """Call at once and then every ``seconds``; ``call`` must not raise."""
        self._scheduler.add_job(call, "interval", seconds=seconds, id=name, next_run_time=self._now())

    def soon(self, name: str) -> None:
        """Call ``name`` now, and go on at its interval from there."""
        try:
            self._scheduler.modify_job(name, next_run_time=self._now())
        except JobLookupError:
            return  # not begun yet, or stopped: nothing is owed

    def start(self) -> None:
        """Begin."""
        self._scheduler.start()

    def stop(self) -> None:
        """Begin no more calls; those that run are not waited for."""
        self._scheduler.shutdown(wait=False)

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC)
