"""The number of an observer's threads: on a machine with busy cores, each additional thread adds delay."""

from __future__ import annotations

import threading
import uuid

import pytest

from rebalance_agent.runtime.scheduling.schedule import THREADS_MAX
from support.observer.observing import observing

pytestmark = pytest.mark.integration

PYTHON_THREADS_MAX = 20
SIGNALS = 1
"""The command has this additional thread, which an observer within a test does not have."""


@pytest.mark.parametrize("everything", [False, True])
def test_an_observer_has_at_most_twenty_python_threads(kafka, tmp_path, everything):
    unique = uuid.uuid4().hex[:8]
    parts = {"state_topic": f"state-{unique}", "events_topic": f"events-{unique}"}
    if everything:
        parts |= {"replicas_group": f"rebalance-agent-{unique}", "events_listen": "127.0.0.1:0", "lag_groups": ".*"}
        parts |= {"events_file": str(tmp_path / "events")}
    before = set(threading.enumerate())
    with observing(kafka.bootstrap_servers, **parts):
        names = sorted(thread.name for thread in set(threading.enumerate()) - before)
    at_rest = [name for name in names if not name.startswith("calls-")]
    assert len(at_rest) + THREADS_MAX + SIGNALS <= PYTHON_THREADS_MAX, names
