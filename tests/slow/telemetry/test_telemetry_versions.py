"""Clients of eight versions push their metrics for ten minutes through one gateway, all at the same time.

Java closes connections that were idle for nine minutes, and brokers close those that were idle for ten, with telemetry
and without it. Here neither does, so that each new connection is a client that reconnects for another reason.
"""

from __future__ import annotations

import os
import uuid
from contextlib import ExitStack, closing

import pytest

from rebalance_agent.testing import EmbeddedKafka
from support.gateway.gatewaying import gatewaying
from support.java.client_jar import compiled, kafka_clients
from support.observer.observing import create_topic, eventually
from support.telemetry.old_clients import java_of, librdkafka_of

PUSHES = int(os.environ.get("REBALANCE_AGENT_TELEMETRY_PUSHES", "40"))
"""Pushes of each client: 40 with the default interval of 15 s are ten minutes."""

PATIENCE_S = 60 + PUSHES * 20
STARTS_S = 300

pytestmark = [pytest.mark.slow, pytest.mark.timeout(STARTS_S + PATIENCE_S)]

ABORTS = "2.5.0"
"""This release of librdkafka is not asked, since it can abort."""

LIBRDKAFKA = (ABORTS, "2.6.1", "2.10.1", "2.16.1")
JAVA = ("3.7.2", "3.9.2", "4.3.0", "4.4.0")
NEVER_IDLE = {"connections.max.idle.ms": f"{3600 * 1000}"}
PREFIX = "rebalance_agent_gateway_"
INFO = "kafka_rebalance_member_client_info"
IDLE = "kafka_rebalance_member_client_poll_idle_ratio"


class Gateway:
    """The counters of the gateway."""

    def __init__(self, watched):
        self._watched = watched

    def pushes(self):
        """Number of pushes by outcome."""
        prefix = f"{PREFIX}telemetry_pushes_total{{"
        return {name[len(prefix) :]: number for name, number in self.samples(prefix) if number}

    def accepted(self):
        return self._watched.metric(f"{PREFIX}telemetry_pushes_total", outcome="accepted") or 0

    def ends(self, end):
        return self._watched.metric(f"{PREFIX}telemetry_ends_total", end=end) or 0

    def opened(self):
        return self._watched.metric(f"{PREFIX}connections_opened_total")

    def samples(self, prefix):
        return [each for each in self._watched.metrics().items() if each[0].startswith(prefix)]

    def named(self, metric, client_id):
        """The series of a metric for this client."""
        return [name for name, _ in self.samples(f"{metric}{{") if f'client_id="{client_id}"' in name]


@pytest.fixture
def kafka():
    with EmbeddedKafka(properties=NEVER_IDLE) as cluster:
        yield cluster


def test_no_version_reconnects_aborts_or_changes_its_assignment(kafka, tmp_path):
    unique = uuid.uuid4().hex[:8]
    topic = f"topic-{unique}"
    create_topic(kafka.bootstrap_servers, topic, 2)
    with gatewaying(kafka.bootstrap_servers, gateway_telemetry=True) as watched, ExitStack() as stack:
        gateway, members = Gateway(watched), {}

        def join(start, version, program, **properties):
            name = f"{start.__name__}-{version}"
            member = start(program, watched.bootstrap, f"{name}-{unique}", topic, name, **properties)
            members[name] = stack.enter_context(closing(member))

        for version in LIBRDKAFKA:
            join(librdkafka_of, version, version)
        for version in JAVA:
            join(java_of, version, compiled(kafka_clients(version), tmp_path / version), **NEVER_IDLE)
        pushing = members.keys() - {f"librdkafka_of-{ABORTS}"}
        eventually(lambda: all(each.owned == {0, 1} for each in members.values()))
        eventually(lambda: all(gateway.named(IDLE, name) for name in pushing), waiting_for=gateway.pushes)
        versions = {name: gateway.named(INFO, name) for name in members}
        opened, accepted, lines = gateway.opened(), gateway.accepted(), count(members)
        eventually(
            lambda: gateway.accepted() >= accepted + PUSHES * len(pushing),
            PATIENCE_S,
            waiting_for=lambda: (gateway.pushes(), {name: each.errors for name, each in members.items()}),
        )
        assert gateway.opened() == opened, "a client reconnected"
        assert count(members) == lines, "an assignment changed"
        assert not any(each.errors for each in members.values()), {name: each.errors for name, each in members.items()}
        assert gateway.pushes() == {'outcome="accepted"}': gateway.accepted()}
        assert not gateway.named(IDLE, f"librdkafka_of-{ABORTS}"), "it is not asked"
        assert all(gateway.named(IDLE, name) for name in pushing), "every other client still pushes"
        for name, (info,) in versions.items():
            assert name.partition("-")[2] in info, versions
        print(f"{gateway.pushes()}, {gateway.opened():.0f} connections of {len(members)} clients")
        for each in members.values():
            each.close()
        eventually(lambda: gateway.ends("terminated") == len(pushing), waiting_for=lambda: gateway.ends("terminated"))
        assert gateway.ends("silent") == 0


def count(members):
    return {name: len(each.lines) for name, each in members.items()}
