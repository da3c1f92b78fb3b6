from __future__ import annotations

import random

from rebalance_agent.cluster.backoff import Backoff
from rebalance_agent.cluster.worker import Worker
from rebalance_agent.errors import AccessDeniedError, ClusterError
from support.observer.fakes import Calls

PATIENCE_S = 10


def _quick():
    return Backoff(0.001, 0.002, random.Random(0))


def test_work_restarts_after_every_failure_also_after_our_own_errors():
    health, failures = Calls(), [ClusterError("away"), ZeroDivisionError("oops")]

    def work(stop):
        if failures:
            raise failures.pop(0)
        health.ready("part")
        stop.wait()

    worker = Worker("part", work, health, backoff=_quick())
    worker.start()
    health.wait_for(lambda calls: calls.of("ready"))
    worker.stop()
    worker.join(PATIENCE_S)
    assert health.of("unready") == [("part", "away"), ("part", "internal error: ZeroDivisionError('oops')")]


def test_a_missing_right_is_passed_to_the_denied_callback_instead_of_making_the_part_unready():
    health, denied = Calls(), Calls()

    def work(_stop):
        raise AccessDeniedError("may not read")

    worker = Worker("part", work, health, denied=denied.reported, backoff=_quick())
    worker.start()
    denied.wait_for(lambda calls: calls.of("reported") == [("may not read",)])
    worker.stop()
    worker.join(PATIENCE_S)
    assert health.made == []
