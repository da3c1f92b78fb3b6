"""A restart of a gateway within the session timeout causes no rebalance."""

from __future__ import annotations

import threading
import uuid

import pytest

from rebalance_agent.testing import EmbeddedKafka
from support.gateway.gateway_members import LONG_S, AiokafkaMember, KafkaPythonMember
from support.gateway.gatewaying import free_base, gatewaying
from support.members.member_lines import LibrdkafkaMember, java_member
from support.members.threads import Load
from support.observer.observing import create_topic, eventually

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PARTITIONS = 6
AWAY_S = (0.5, 8.0)
KEEPS_METADATA = {"metadata.recovery.strategy": "none"}
"""By default Java's consumers drop the cluster's metadata without a reachable broker, and rejoin (KIP-899,
KIP-1102)."""


@pytest.fixture(scope="module")
def three():
    with EmbeddedKafka(brokers=3) as kafka:
        yield kafka


@pytest.mark.parametrize(
    ("kind", "own", "more"),
    [
        (LibrdkafkaMember, "range", {}),
        (LibrdkafkaMember, "cooperative-sticky", {}),
        (KafkaPythonMember, "range", {}),
        (AiokafkaMember, "range", {}),
        (java_member, "RangeAssignor", KEEPS_METADATA),
    ],
)
def test_members_continue_after_a_gateways_outage_without_a_rebalance(three, kind, own, more):
    topic = f"restarts-{uuid.uuid4().hex[:8]}"
    create_topic(three.bootstrap_servers, topic, PARTITIONS, 3)
    base = free_base()
    settings = {"gateway_listen": f"127.0.0.1:{base}", "gateway_port_base": base, "gateway_drain_seconds": 0.0}
    members, group = [], f"group-of-{topic}"
    with Load(three, topic, PARTITIONS):
        try:
            with gatewaying(three.bootstrap_servers, **settings) as gateway:
                members += (kind(gateway.bootstrap, group, topic, name, own, **more) for name in ("one", "other"))
                eventually(lambda: [len(each.owned) for each in members] == [3, 3], LONG_S)
                eventually(lambda: all(each.read.total() for each in members), LONG_S)
            changes = [len(each.changes) for each in members]
            for away_s in AWAY_S:
                threading.Event().wait(away_s)
                read = [each.read.total() for each in members]
                with gatewaying(three.bootstrap_servers, **settings):
                    eventually(
                        lambda read=read: all(
                            each.read.total() > count + 10 for each, count in zip(members, read, strict=True)
                        ),
                        LONG_S,
                    )
                    assert [len(each.changes) for each in members] == changes
            with gatewaying(three.bootstrap_servers, **settings):
                for each in members:
                    each.close()
        finally:
            for each in members:
                each.close()
