"""Waits for the cluster at the start of every role, and again whenever all connections are lost."""

from __future__ import annotations

import threading

from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.cluster.backoff import Backoff
from rebalance_agent.errors import ClusterError
from rebalance_agent.health import Health

__all__ = ["CLUSTER", "identify_cluster", "watch_cluster"]

CLUSTER = "cluster"
"""The readiness part that is ready when the cluster has answered with its id."""

LOST_CHECK_S = 0.5
"""Seconds between checks for lost connections; they send no request."""


def identify_cluster(cluster: Cluster, health: Health, stop: threading.Event, backoff: Backoff | None = None) -> str:
    """Ask the cluster for its id until it answers; return the id, or an empty string if ``stop`` is set first."""
    backoff = backoff or Backoff(max_s=5.0)
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
    """Ask the cluster for its id again whenever all connections are lost, until ``stop`` is set."""
    while not stop.wait(LOST_CHECK_S):
        if cluster.lost():
            identify_cluster(cluster, health, stop)
