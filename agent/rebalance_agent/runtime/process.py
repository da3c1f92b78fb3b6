"""What every role does around its work: listen, wait for the cluster, stop cleanly on a signal."""

from __future__ import annotations

import signal
import socket
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
    """Set ``stop`` on SIGINT and SIGTERM; a second one of the same kind ends the process at once. Main thread only.

    A thread of its own is told of signals and sets ``stop``. Python runs handlers in the main thread alone, which goes
    on waiting where the system gave the signal to another one; and a handler that comes while that thread enters its
    wait could not take the event's lock.
    """
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.getsignal(number) for number in numbers}

    def handle(number: int, _frame: FrameType | None) -> None:
        signal.signal(number, before[signal.Signals(number)])

    def listen() -> None:
        while told := heard.recv(1):
            if told[0] in numbers:
                stop.set()

    heard, telling = socket.socketpair()
    telling.setblocking(False)
    listening = threading.Thread(target=listen, name="signals", daemon=True)
    listening.start()
    told_before = signal.set_wakeup_fd(telling.fileno(), warn_on_full_buffer=False)
    for number in numbers:
        signal.signal(number, handle)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, before[number])
        signal.set_wakeup_fd(told_before)
        telling.close()
        listening.join()
        heard.close()


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
