"""What a gateway does of itself beside its connections."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace

from rebalance_agent.gateway.refusal import Refusal, RefusedError
from rebalance_agent.runtime import gateway as role_module
from rebalance_agent.runtime.gateway import GATEWAY, GatewayRole
from rebalance_agent.runtime.gateway_settings import GatewaySettings
from support.gateway_transport import Told

BROKERS = {1: ("b", 9092)}


class Cluster:
    def __init__(self, _properties):
        pass

    def brokers(self):
        return BROKERS


class Taken:
    """A gateway one of whose ports another program holds until it has been tried twice."""

    def __init__(self, health):
        self.health, self.seen, self.tried = health, [], 0

    async def known(self, brokers):
        assert brokers == BROKERS
        self.seen.append(self.health.parts.get(GATEWAY))
        self.tried += 1
        if self.tried <= 2:
            raise RefusedError(Refusal.NO_LISTENER, "port 29401 is taken")


def test_a_port_that_was_taken_is_tried_again_and_the_gateway_gets_ready(monkeypatch):
    monkeypatch.setattr(role_module, "Cluster", Cluster)
    kafka = {"bootstrap.servers": "b:1"}
    role = GatewayRole(GatewaySettings(kafka=kafka, events_topic=""), kafka)
    health = Told()
    monkeypatch.setattr(role, "_sidecar", SimpleNamespace(health=health))
    gateway = Taken(health)
    asyncio.run(asyncio.wait_for(role._learn(gateway), 20))
    assert gateway.seen == [None, "port 29401 is taken", "port 29401 is taken"]
    assert health.parts == {GATEWAY: None}
