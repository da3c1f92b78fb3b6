"""Repeats calls with APScheduler: no call overlaps itself, and missed calls are not repeated.

APScheduler uses only the wall clock: if that clock were set back by an hour, APScheduler would make no calls for an
hour. Therefore this module compares the wall clock with the monotonic clock.
"""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from datetime import UTC, datetime

from apscheduler.executors.base import BaseExecutor, run_job
from apscheduler.job import Job
from apscheduler.jobstores.base import JobLookupError
from apscheduler.schedulers.background import BackgroundScheduler

from rebalance_agent.clock import Clock

__all__ = ["THREADS_MAX", "Schedule"]

THREADS_MAX = 3
"""Maximum number of calls at a time. A poll that hangs times out after some seconds, and few polls hang at once."""

LOOK_S = 1.0
"""Seconds between comparisons of the clocks: the longest pause of all calls after the wall clock is set back."""

SET_BACK_S = 0.5
"""Smallest backward step of the wall clock, in seconds, to react to: a smaller step delays calls by less than this."""


class _Threads(BaseExecutor):  # type: ignore[misc]
    """Runs calls in up to `THREADS_MAX` daemon threads; a new thread starts only when all others are busy.

    This is a separate implementation because a process waits at exit for the threads of a standard library pool.
    ``requested``: names of calls to start soon. If such a call is running, ``again`` is called with its job afterwards.
    """

    def __init__(self, again: Callable[[Job], None]) -> None:
        super().__init__()
        self.requested: set[str] = set()
        self._again = again
        self._changed = threading.Condition()
        self._due: deque[tuple[Job, list[datetime]]] = deque()
        self._free = self._threads = 0
        self._ended = False

    def shutdown(self, wait: bool = True) -> None:  # noqa: ARG002 - as in the base class
        """End the idle threads, without waiting for running calls."""
        with self._changed:
            self._ended = True
            self._due.clear()
            self._changed.notify_all()

    def _do_submit_job(self, job: Job, run_times: list[datetime]) -> None:
        self.requested.discard(job.id)
        with self._changed:
            self._due.append((job, run_times))
            if len(self._due) > self._free and self._threads < THREADS_MAX:
                self._threads += 1
                threading.Thread(target=self._run, name=f"calls-{self._threads}", daemon=True).start()
            self._changed.notify()

    def _run(self) -> None:
        while True:
            with self._changed:
                self._free += 1
                self._changed.wait_for(lambda: self._due or self._ended)
                self._free -= 1
                if self._ended:
                    return
                job, run_times = self._due.popleft()
            self._run_job_success(job.id, run_job(job, "default", run_times, self._logger.name))
            if job.id in self.requested:
                self._again(job)


class _Scheduler(BackgroundScheduler):  # type: ignore[misc]
    """Calls ``look`` in the scheduler's own thread, at least every `LOOK_S`."""

    def __init__(self, look: Callable[[], None], executor: BaseExecutor) -> None:
        super().__init__(
            executors={"default": executor},
            job_defaults={"coalesce": True, "max_instances": 1, "misfire_grace_time": None},
            timezone=UTC,
        )
        self._look = look

    def _process_jobs(self) -> float:
        self._look()
        wait_s: float | None = super()._process_jobs()
        return LOOK_S if wait_s is None else min(wait_s, LOOK_S)


class Schedule:
    """Makes named calls, each at its own interval."""

    def __init__(self, clock: Clock) -> None:
        """Prepare the schedule; `start` starts the calls."""
        self._clock = clock
        self._ahead_s = self._ahead()
        # APScheduler logs every call, and every poll that takes longer than its interval. Such polls are normal on a
        # busy cluster, and a metric has each poll's duration.
        logging.getLogger("apscheduler").setLevel(logging.ERROR)
        self._threads = _Threads(self._soon)
        self._scheduler = _Scheduler(self._look_at_clocks, self._threads)

    def every(self, seconds: float, call: Callable[[], None], name: str) -> None:
        """Call ``call`` at the start and then every ``seconds``; ``call`` must not raise."""
        self._scheduler.add_job(call, "interval", seconds=seconds, id=name, next_run_time=self._now())

    def soon(self, name: str) -> None:
        """Make the call ``name`` now, or as soon as its running call ends; then continue at the call's interval."""
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

    def stop(self) -> None:
        """Make no more calls, without waiting for running calls."""
        self._scheduler.shutdown(wait=False)

    def _look_at_clocks(self) -> None:
        before_s, self._ahead_s = self._ahead_s, self._ahead()
        if self._ahead_s < before_s - SET_BACK_S:
            for job in self._scheduler.get_jobs():
                self._soon(job)

    def _ahead(self) -> float:
        """Return how many seconds the wall clock is ahead of the monotonic clock."""
        return self._clock.now_ms() / 1000 - self._clock.monotonic()

    def _now(self) -> datetime:
        return datetime.fromtimestamp(self._clock.now_ms() / 1000, UTC)
