"""Reports how many Spark tasks are done while a stage runs, which over a long history takes many minutes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

__all__ = ["TOLD_EVERY_S", "tasks_told"]

TOLD_EVERY_S = 15.0
"""Seconds between two reports."""

END_S = 5.0
"""Seconds for which the end of the block waits for a request to Spark, whose Java may hang."""


@contextmanager
def tasks_told(spark: SparkSession, tell: Callable[[str], None], every_s: float = TOLD_EVERY_S) -> Iterator[None]:
    """While the block runs, call ``tell`` every ``every_s`` seconds with the number of tasks done in active stages."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(every_s):
            try:
                done, tasks = _tasks(spark)
            except (Py4JError, OSError):
                return  # Spark has ended; the block gets that error itself
            if tasks:
                tell(f"{done:,} of {tasks:,} tasks")

    thread = threading.Thread(target=watch, name="spark-tasks", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join(END_S)


def _tasks(spark: SparkSession) -> tuple[int, int]:
    """Return the number of completed tasks and of all tasks in the active stages."""
    tracker = spark.sparkContext.statusTracker()
    stages = [stage for number in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(number)) is not None]
    return sum(each.numCompletedTasks for each in stages), sum(each.numTasks for each in stages)
