"""Prometheus scrapes all data of the sidecars in the pods that the chart's PodMonitor selects."""

from __future__ import annotations

import os

import pytest

from rebalance_agent.clock import SystemClock
from support.charts.live_prometheus import Prometheus, server
from support.cluster.consumers import PARTITIONS, SECONDS_MAX
from support.helm.prometheus import targets
from support.observer.observing import eventually


def test_the_pod_monitor_selects_injected_pods_and_no_other(consumers, release, tmp_path):
    binary = server()
    if binary is None:
        assert os.environ.get("CI") != "true", "no prometheus: see tests/support/runner/tools.py"
        pytest.skip("no prometheus: run by `make test-node`, or set REBALANCE_AGENT_PROMTOOL to one with it beside")
    consumers.deploy(2)
    monitor = release.node.get("podmonitor", "rebalance-agent-sidecars", "--namespace", release.namespace)
    pods = release.node.get("pods", "--all-namespaces")["items"]
    found = [pod for pod in pods if list(targets(monitor, [pod]))]
    ours = {pod["metadata"]["name"] for pod in consumers.pods()}
    assert {pod["metadata"]["name"] for pod in found if pod["metadata"]["namespace"] == consumers.name} == ours
    assert not [pod for pod in found if pod["metadata"]["namespace"] == release.namespace]

    with Prometheus(binary, tmp_path) as prometheus:
        prometheus.watch("sidecars", "sidecars", *targets(monitor, consumers.pods()))

        def value(query: str) -> float:
            return sum(series.value for series in prometheus.at(query, SystemClock().now_ms() / 1_000))

        owned = f'sum(kafka_rebalance_member_partitions{{consumergroup="{consumers.name}"}})'
        eventually(
            lambda: value(owned) == PARTITIONS, SECONDS_MAX, waiting_for="all partitions, in the metrics of sidecars"
        )
        assert value("sum(up)") == len(ours)
