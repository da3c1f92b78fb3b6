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
from rebalance_agent.runtime.processes.gateway import GATEWAY, GatewayRole
from rebalance_agent.runtime.settings.gateway_settings import GatewaySettings

BROKERS = {1: ("b", 9092)}


@pytest.fixture
def found(monkeypatch):
    """Find the brokers after some failed attempts; return the steps of the gateway, in order."""

    def find(failures):
        kafka = {"bootstrap.servers": "b:1"}
        role = GatewayRole(GatewaySettings(kafka=kafka, events_topic=""), kafka)
        steps, answers = [], iter([*failures, BROKERS])

        def brokers():
            steps.append("asked")
            if isinstance(answer := next(answers), ClusterError):
                raise answer
            return answer

        async def open_ports(brokers):
            steps.append(brokers)

        monkeypatch.setattr(role_module, "Cluster", lambda _properties: SimpleNamespace(brokers=brokers))
        monkeypatch.setattr(role._sidecar.health, "ready", steps.append)
        asyncio.run(asyncio.wait_for(role._find_brokers(SimpleNamespace(open_ports=open_ports)), 20))
        return steps

    return find


def test_a_gateway_is_ready_when_the_brokers_ports_are_open(found):
    """A port that another process uses is therefore reported before the log shows that the gateway is ready."""
    assert found([]) == ["asked", BROKERS, GATEWAY]


def test_a_gateway_whose_login_may_not_read_metadata_is_ready_and_tries_again(found):
    assert found([ClusterError("no broker answers")]) == ["asked", GATEWAY, "asked", BROKERS, GATEWAY]


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
