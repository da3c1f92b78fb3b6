"""The gateway's own work beside its connections."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading
from types import SimpleNamespace

import pytest

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


def test_a_second_ctrl_c_ends_the_drain_at_once(monkeypatch):
    """The drain would last longer than the test may."""
    monkeypatch.setattr(role_module, "Cluster", lambda _properties: SimpleNamespace(brokers=dict))
    with socket.create_server(("127.0.0.1", 0)) as broker, contextlib.ExitStack() as sockets:
        kafka = {"bootstrap.servers": f"127.0.0.1:{broker.getsockname()[1]}"}
        ports = dict.fromkeys(("listen", "events_listen", "gateway_listen"), "127.0.0.1:0")
        usual = {"events_topic": "", "gateway_port_base": 0, "gateway_drain_seconds": 3600}
        role, stop = GatewayRole(GatewaySettings(kafka=kafka, **usual, **ports), kafka), threading.Event()

        def twice(ended, _listening):
            sockets.enter_context(socket.create_connection(("127.0.0.1", role.gateway_port)))
            sockets.enter_context(broker.accept()[0])
            stop.set()
            assert not ended.is_set()
            raise KeyboardInterrupt

        monkeypatch.setattr(role._sidecar, "run", twice)
        with pytest.raises(KeyboardInterrupt):
            role.run(stop)
