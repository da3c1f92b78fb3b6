"""The ports that brokers and the demo leave to agents are those of the settings and of the documentation."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from rebalance_agent.runtime.settings.agent_ports import AGENT_PORTS
from rebalance_agent.runtime.settings.gateway_settings import GatewaySettings
from rebalance_agent.runtime.settings.roles import ObserverSettings
from rebalance_agent.runtime.settings.text_types import split_address
from rebalance_agent.testing.kafka.broker_settings import PORTS

ROOT = Path(__file__).parents[4]


def test_no_port_of_an_agent_is_chosen_for_brokers_and_the_demo():
    assert AGENT_PORTS.isdisjoint(PORTS)


def test_the_default_ports_of_every_role_are_ports_of_agents():
    gateway = GatewaySettings()
    addresses = (ObserverSettings().listen, gateway.listen, gateway.events_listen, gateway.gateway_listen)
    assert AGENT_PORTS.issuperset(split_address(address)[1] for address in addresses)
    assert AGENT_PORTS.issuperset(gateway.gateway_port_base + node for node in range(100))


@pytest.mark.parametrize("page", ["README.md", "docs/gateway.md", "docs/seats.md", "docs/troubleshooting.md"])
def test_the_documented_ports_are_ports_of_agents(page):
    shown = re.findall(r"(?:localhost|127\.0\.0\.1):(29\d{3})\b", (ROOT / page).read_text())
    assert shown
    assert AGENT_PORTS.issuperset(map(int, shown))


def test_brokers_can_be_started_without_the_dependencies_of_an_agent():
    program = """
import sys
sys.modules.update(dict.fromkeys(("pydantic", "pydantic_settings", "structlog", "prometheus_client", "h11")))
import rebalance_agent.testing
"""
    subprocess.run([sys.executable, "-c", program], check=True)
