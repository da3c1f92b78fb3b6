"""A gateway counts deliveries, acknowledgements and lock renewals of Java's share consumer on a real broker."""

from __future__ import annotations

from collections import Counter
from contextlib import closing

import pytest
from confluent_kafka import Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from support.gateway.gateway_members import LONG_S
from support.gateway.gatewaying import gatewaying
from support.gateway.running import PATIENCE_S
from support.members.member_lines import java_share_member
from support.observer.observing import create_topic, eventually

pytestmark = pytest.mark.integration

GROUP, TOPIC = "shared-records", "share-payments"
RECORDS = Counter({"ACCEPT": 7, "RELEASE": 3, "REJECT": 2, "RENEW": 1})
"""Acknowledge type of the first delivery -> number of records."""

COUNTED = {
    ("acquired", "delivery", "1"): 13,
    ("acquired", "delivery", "2"): 3,
    ("acquired", "delivery", "3"): 0,
    ("acknowledged", "type", "accept"): 7 + 3 + 1,
    ("acknowledged", "type", "release"): 3,
    ("acknowledged", "type", "reject"): 2,
    ("acknowledged", "type", "renew"): 1,
    ("acknowledged", "type", "gap"): 0,
}
"""Released records are delivered again, and a renewed record is still to be accepted."""


def test_every_delivery_and_acknowledgement_is_counted_once(kafka):
    bootstrap = kafka.bootstrap_servers
    create_topic(bootstrap, TOPIC, 1)
    earliest = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.GROUP, GROUP, incremental_configs=[earliest])
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)
    producer = Producer({"bootstrap.servers": bootstrap})
    for value in RECORDS.elements():
        producer.produce(TOPIC, value)
    producer.flush()
    with gatewaying(bootstrap) as through:
        seen = {}

        def counted():
            for kind, label, value in COUNTED:
                name = f"kafka_rebalance_share_{kind}_records_total"
                seen[kind, label, value] = through.metric(name, consumergroup=GROUP, **{label: value})
            return seen == COUNTED

        with closing(java_share_member(through.bootstrap, GROUP, TOPIC, "one", "explicit")) as member:
            eventually(lambda: sum(member.read.values()) >= 17, LONG_S, waiting_for=member.errors)
            eventually(counted, waiting_for=seen)
        assert counted(), seen
