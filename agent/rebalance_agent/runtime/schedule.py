"""Calls that are repeated, on APScheduler: no call overlaps itself, and missed ones are not made up for."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import UTC, datetime

from apscheduler.executors.pool import ThreadPoolExecutor
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler

from rebalance_agent.clock import Clock

__all__ = ["Schedule"]

THREADS = 8
"""One for each thing that is scheduled: a poll that waits for a broker holds up no other."""


class Schedule:
    """Named calls at intervals of their own."""

    def __init__(self, clock: Clock) -> None:
        """Nothing is called before `start`."""
        self._clock = clock
        # Its executors tell of every single call. That a poll took longer than its interval is ordinary on a busy
        # cluster, and its duration is a metric.
        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        self._scheduler = BackgroundScheduler(
            executors={"default": ThreadPoolExecutor(THREADS)},
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
