"""The gateway's own work beside its connections."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

from rebalance_agent.errors import ClusterError
from rebalance_agent.runtime.processes import gateway as role_module
from rebalance_agent.runtime.processes.gateway import GatewayRole
from rebalance_agent.runtime.settings.gateway_settings import GatewaySettings

BROKERS = {1: ("b", 9092)}


class Cluster:
    asked = 0

    def __init__(self, _properties):
        pass

    def brokers(self):
        Cluster.asked += 1
        if Cluster.asked == 1:
            raise ClusterError("no broker answers")
        return BROKERS


def test_metadata_is_requested_until_brokers_are_known(monkeypatch):
    monkeypatch.setattr(role_module, "Cluster", Cluster)
    kafka = {"bootstrap.servers": "b:1"}
    role = GatewayRole(GatewaySettings(kafka=kafka, events_topic=""), kafka)
    reported = []

    async def open_ports(brokers):
        reported.append(brokers)

    asyncio.run(asyncio.wait_for(role._find_brokers(SimpleNamespace(open_ports=open_ports)), 20))
    assert (reported, Cluster.asked) == ([BROKERS], 2)
