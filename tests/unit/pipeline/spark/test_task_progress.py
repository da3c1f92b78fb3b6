"""Progress of Spark's tasks is reported while they run; errors of the report end nothing."""

from __future__ import annotations

import threading
from types import SimpleNamespace

from py4j.protocol import Py4JNetworkError

from rebalance_agent.pipeline.spark.task_progress import report_tasks

STAGES = {
    1: SimpleNamespace(numTasks=1_000, numCompletedTasks=999),
    2: SimpleNamespace(numTasks=500, numCompletedTasks=1),
}


def spark(stages):
    """The used part of a Spark session; ended ``stages`` have no information."""
    tracker = SimpleNamespace(getActiveStageIds=lambda: [*STAGES, 3], getStageInfo=stages)
    return SimpleNamespace(sparkContext=SimpleNamespace(statusTracker=lambda: tracker))


def test_tasks_of_all_running_stages_are_reported_until_the_end():
    received, once = [], threading.Event()

    def receive(text):
        received.append(text)
        once.set()

    with report_tasks(spark(STAGES.get), receive, every_s=0.001):
        assert once.wait(30)
    assert set(received) == {"1,000 of 1,500 tasks of the running Spark stages"}
    assert not [each for each in threading.enumerate() if each.name == "spark-tasks"]


def test_without_running_stages_nothing_is_reported():
    received, asked = [], threading.Semaphore(0)

    def nothing(_number):
        asked.release()

    with report_tasks(spark(nothing), received.append, every_s=0.001):
        assert all(asked.acquire(timeout=30) for _ in range(10))
    assert received == []


def test_an_ended_spark_session_is_not_queried_again():
    asked = threading.Event()

    def gone(_number):
        asked.set()
        raise Py4JNetworkError

    with report_tasks(spark(gone), lambda _text: None, every_s=0.001):
        assert asked.wait(30)
