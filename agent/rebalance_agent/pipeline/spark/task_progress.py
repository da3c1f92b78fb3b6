"""Reports how many Spark tasks are done while a stage runs; for a long history, a stage takes many minutes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

__all__ = ["REPORT_EVERY_S", "report_tasks"]

REPORT_EVERY_S = 15.0
"""Seconds between reports."""

END_S = 5.0
"""Seconds for which the end of the block waits for a request to Spark, because Java may hang."""


@contextmanager
def report_tasks(spark: SparkSession, report: Callable[[str], None], every_s: float = REPORT_EVERY_S) -> Iterator[None]:
    """While the block runs, call ``report`` every ``every_s`` seconds with the number of tasks done."""
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(every_s):
            try:
                done, tasks = _tasks(spark)
            except (Py4JError, OSError):
                return  # Spark has ended; the code in the block gets the same error
            if tasks:
                report(f"{done:,} of {tasks:,} tasks of the running Spark stages")

    thread = threading.Thread(target=watch, name="spark-tasks", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join(END_S)


def _tasks(spark: SparkSession) -> tuple[int, int]:
    """Return the number of completed tasks and of all tasks in the active stages."""
    tracker = spark.sparkContext.statusTracker()
    stages = [stage for number in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(number)) is not None]
    return sum(stage.numCompletedTasks for stage in stages), sum(stage.numTasks for stage in stages)
