"""How far Spark is, told while it works: a stage over a long history takes many minutes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

__all__ = ["TOLD_EVERY_S", "tasks_told"]

TOLD_EVERY_S = 15.0
END_S = 5.0
"""How long the end waits for a question to Spark that is under way: its Java may hang."""


@contextmanager
def tasks_told(spark: SparkSession, tell: Callable[[str], None], every_s: float = TOLD_EVERY_S) -> Iterator[None]:
    """While the block runs, say every so often how many tasks of what Spark works on are done."""
    over = threading.Event()

    def watch() -> None:
        while not over.wait(every_s):
            try:
                done, tasks = _tasks(spark)
            except (Py4JError, OSError):
                return  # Spark has ended, which the block finds out for itself
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
    """Those done and all of the stages that run now."""
    tracker = spark.sparkContext.statusTracker()
    stages = [stage for number in tracker.getActiveStageIds() if (stage := tracker.getStageInfo(number)) is not None]
    return sum(each.numCompletedTasks for each in stages), sum(each.numTasks for each in stages)
