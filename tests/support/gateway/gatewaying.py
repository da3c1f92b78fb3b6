"""A complete gateway in this process, on free ports, as ``rebalance-agent gateway`` runs it."""

from __future__ import annotations

import random
import socket
from contextlib import contextmanager

from rebalance_agent.runtime.processes.gateway import GatewayRole
from rebalance_agent.runtime.settings.gateway_settings import GatewaySettings
from rebalance_agent.runtime.settings.kafka_config import client_properties
from support.observer.observing import eventually, running

__all__ = ["free_base", "gatewaying"]

UNKNOWN = {"listen": "127.0.0.1:0", "events_listen": "127.0.0.1:0", "gateway_listen": "127.0.0.1:0"}


def free_base(nodes=3):
    """A ``gateway_port_base`` with free ports for node ids from 1, below the ephemeral ports.

    The base is random: a gateway that restarts needs its ports again, and no other run should use them meanwhile.
    """
    bases = range(20_000, 30_000, 10)
    for base in random.SystemRandom().sample(bases, len(bases)):
        try:
            for node in range(nodes + 1):
                socket.create_server(("127.0.0.1", base + node)).close()
        except OSError:
            continue
        return base
    raise AssertionError("no free ports")


@contextmanager
def gatewaying(properties, **settings):
    """A listening gateway; ``properties``: bootstrap servers, or Kafka client properties. It ends without draining."""
    kafka = {"bootstrap.servers": properties} if isinstance(properties, str) else properties
    usual = {**UNKNOWN, "gateway_port_base": 0, "gateway_drain_seconds": 0, "events_topic": ""}
    chosen = GatewaySettings(kafka=kafka, **usual | settings)
    with running(GatewayRole(chosen, client_properties(chosen.kafka))) as watched:
        eventually(lambda: watched.role.gateway_port and watched.role.port)
        watched.bootstrap = f"127.0.0.1:{watched.role.gateway_port}"
        yield watched
