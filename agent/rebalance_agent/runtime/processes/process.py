"""What every role does around its work: wait for the cluster, and notice that it was lost."""

from __future__ import annotations

import threading

from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.cluster.backoff import Backoff
from rebalance_agent.errors import ClusterError
from rebalance_agent.health import Health

__all__ = ["CLUSTER", "identify_cluster", "watch_cluster"]

CLUSTER = "cluster"
"""Readiness part: the cluster answered and has an id."""

LOST_CHECK_S = 0.5
"""How often it is noticed that connections went down; no broker is asked for it."""


def identify_cluster(cluster: Cluster, health: Health, stop: threading.Event, backoff: Backoff | None = None) -> str:
    """Ask for the cluster's id until it answers; empty only if ``stop`` was set meanwhile."""
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
    """Until ``stop`` is set: when all connections are lost, ask until the cluster answers again."""
    while not stop.wait(LOST_CHECK_S):
        if cluster.lost():
            identify_cluster(cluster, health, stop)
