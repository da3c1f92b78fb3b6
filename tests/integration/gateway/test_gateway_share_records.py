"""A gateway observes Java's share consumers on a real broker: their membership, deliveries and acknowledgements."""

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
from support.observer.observing import create_topic, events, eventually, observing

pytestmark = pytest.mark.integration

GROUP, TOPIC, PUBLISHED = "shared-records", "share-payments", "share-events"
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


DELIVERED = {"acquired": 16, "redelivered": 3, "accepted": 11, "released": 3, "rejected": 2, "renewed": 1}


def test_every_delivery_and_acknowledgement_is_counted_once_and_reaches_the_observer(kafka):
    bootstrap = kafka.bootstrap_servers
    create_topic(bootstrap, TOPIC, 1)
    create_topic(bootstrap, PUBLISHED, 1)  # the observer reads a new topic only after its next topic poll
    earliest = ConfigEntry("share.auto.offset.reset", "earliest", incremental_operation=AlterConfigOpType.SET)
    resource = ConfigResource(ConfigResource.Type.GROUP, GROUP, incremental_configs=[earliest])
    admin = AdminClient({"bootstrap.servers": bootstrap})
    admin.incremental_alter_configs([resource])[resource].result(PATIENCE_S)
    producer = Producer({"bootstrap.servers": bootstrap})
    for value in RECORDS.elements():
        producer.produce(TOPIC, value)
    producer.flush()

    def published(kind):
        return [each for each in events(bootstrap, PUBLISHED, group=GROUP) if each["kind"] == kind]

    def reported():
        """What the gateway has reported of each client: callback and partitions."""
        of_client = {"one": [], "two": []}
        for each in published("member"):
            assert each["evidence"] == "gateway"
            if each["partitions"]:
                of_client[each["client_id"]].append((each["callback"], each["partitions"]))
        return of_client

    def rebalances():
        """Trigger -> the newest revision of the last rebalance with this trigger."""
        return {each["trigger"]: each for each in published("generation") if each["closes_episode"]}

    with observing(bootstrap, events_topic=PUBLISHED) as observer:
        with gatewaying(bootstrap, events_topic=PUBLISHED) as through:
            seen = {}

            def counted():
                for kind, label, value in COUNTED:
                    name = f"kafka_rebalance_share_{kind}_records_total"
                    seen[kind, label, value] = through.metric(name, consumergroup=GROUP, **{label: value})
                return seen == COUNTED

            assert through.get("/readyz/member")[0] == 503
            with closing(java_share_member(through.bootstrap, GROUP, TOPIC, "one", "explicit")) as member:
                eventually(lambda: sum(member.read.values()) >= 17, LONG_S, waiting_for=member.errors)
                eventually(counted, waiting_for=seen)
                assert through.get("/readyz/member")[0] == 200
                with closing(java_share_member(through.bootstrap, GROUP, TOPIC, "two")):
                    both = {"one": [("assigned", {TOPIC: "0"})], "two": [("assigned", {TOPIC: "0"})]}
                    eventually(lambda: reported() == both, LONG_S, waiting_for=reported)
                    eventually(lambda: "member_joined" in rebalances())
            assert counted(), seen
            gone = {client: [*assigned, ("left", {TOPIC: "0"})] for client, assigned in both.items()}
            eventually(lambda: reported() == gone, waiting_for=reported)

        def delivered():
            found = observer.detail(GROUP).get("deliveries", {})
            return {name: number for name, number in found.items() if name != "since_ms"} == DELIVERED

        eventually(delivered, waiting_for=lambda: observer.detail(GROUP))
        eventually(lambda: "member_left" in rebalances())
        eventually(lambda: "seconds" in rebalances()["group_started"]["stall"], waiting_for="the first ShareFetch")
    found = rebalances()
    assert found.keys() == {"group_started", "member_joined", "member_left"}
    assert (found["member_joined"]["stall"]["seconds"], found["member_joined"]["moved"]) == (0, 0)
    assert not any("slowest_member_id" in each for each in found.values())
