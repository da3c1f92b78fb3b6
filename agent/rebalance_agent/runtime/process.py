"""What every role does around its work: listen, wait for the cluster, stop cleanly on a signal."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from rebalance_agent.collectors.backoff import Backoff
from rebalance_agent.collectors.cluster import Cluster
from rebalance_agent.collectors.context import Health
from rebalance_agent.errors import ClusterError

__all__ = ["CLUSTER", "identify_cluster", "stop_on_signals", "watch_cluster"]

CLUSTER = "cluster"
"""Readiness part: the cluster answered and has an id."""

LOST_CHECK_S = 0.5
"""How often it is noticed that connections went down; no broker is asked for it."""


@contextmanager
def stop_on_signals(stop: threading.Event) -> Iterator[None]:
    """Set ``stop`` on SIGINT and SIGTERM; a second one of the same kind ends the process at once. Main thread only."""
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}

    def handle(number: int, _frame: FrameType | None) -> None:
        stop.set()
        signal.signal(number, before[signal.Signals(number)])

    for number in numbers:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, before[number])


def identify_cluster(cluster: Cluster, health: Health, stop: threading.Event, backoff: Backoff | None = None) -> str:
    """Ask for the cluster's id until it answers; empty only if ``stop`` was set meanwhile."""
    backoff = backoff or Backoff(most=5.0)
    while not stop.is_set():
        try:
            cluster_id, _ = cluster.identify()
        except ClusterError as error:
            health.unready(CLUSTER, str(error))
            stop.wait(backoff.next())
            continue
        health.ready(CLUSTER)
        return cluster_id
    return ""


def watch_cluster(cluster: Cluster, health: Health, stop: threading.Event) -> None:
    """Until ``stop`` is set: when all connections are lost, ask until the cluster answers again."""
    while not stop.wait(LOST_CHECK_S):
        if cluster.lost():
            identify_cluster(cluster, health, stop)
