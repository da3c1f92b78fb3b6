"""Share consumers (KIP-932) read everything through a gateway, and never around it, also after leaders have moved."""

from __future__ import annotations

from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from rebalance_agent.testing import EmbeddedKafka
from support.gateway.gateway_members import LONG_S, read_by, read_everything
from support.gateway.running import PATIENCE_S, gateway
from support.members.member_lines import java_share_member
from support.members.threads import Load
from support.observer.observing import create_topic, eventually

pytestmark = [pytest.mark.integration, pytest.mark.slow]

PARTITIONS = 6
GROUP, TOPIC = "shared", "orders"


@pytest.fixture(scope="module")
def three():
    with EmbeddedKafka(brokers=3, properties={"min.insync.replicas": "2"}) as kafka:
        admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
        earliest = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(ConfigResource.Type.GROUP, GROUP, incremental_configs=[earliest])
        admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)
        create_topic(kafka.bootstrap_servers, TOPIC, PARTITIONS, 3)
        yield kafka


def remote_ports(pid):
    """The ports to which a process has TCP connections."""
    inodes = set()
    for each in Path(f"/proc/{pid}/fd").iterdir():
        link = str(each.readlink())
        if link.startswith("socket:["):
            inodes.add(link[8:-1])
    rows = [
        line.split() for name in ("tcp", "tcp6") for line in Path(f"/proc/{pid}/net/{name}").read_text().splitlines()
    ]
    return {int(row[2].rpartition(":")[2], 16) for row in rows[1:] if len(row) > 9 and row[9] in inodes}


def test_share_consumers_read_everything_through_the_gateway_after_a_leader_has_moved(three):
    real = {int(each.rpartition(":")[2]) for each in three.bootstrap_servers.split(",")}
    with gateway(three.bootstrap_servers) as through, Load(three, TOPIC, PARTITIONS) as load:
        members = [java_share_member(through.bootstrap, GROUP, TOPIC, name) for name in ("one", "other")]
        try:
            eventually(lambda: len(read_by(*members)) > 100, LONG_S, waiting_for=lambda: members[0].errors)
            three.stop_broker(1)
            at_stop = len(read_by(*members))
            eventually(lambda: len(read_by(*members)) > at_stop + 100, LONG_S)
            three.start_broker(1)
            read_everything(load, *members)
            for each in members:
                assert remote_ports(each.pid), "it has connections"
                assert not remote_ports(each.pid) & real, "all of them to the gateway"
        finally:
            for each in members:
                each.close()
