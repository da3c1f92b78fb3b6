"""Groups of the newest broker: facts that only its records show."""

from __future__ import annotations

from contextlib import closing

import pytest

from rebalance_agent.testing import EmbeddedKafka
from rebalance_agent.testing.kafka.kafka_versions import VERSIONS
from support.gateway.running import Plain
from support.observer.observing import create_topic, events, eventually, observing

pytestmark = pytest.mark.integration

BROKER = {"group.consumer.heartbeat.interval.ms": "500", "group.consumer.min.heartbeat.interval.ms": "500"}
KIP_848 = {"group.protocol": "consumer", "heartbeat.interval.ms": None, "session.timeout.ms": None}
RACK, ANOTHER = "broker.rack=one", "broker.rack=another"


def test_a_broker_in_another_rack_is_the_cause_of_a_rebalance():
    """The coordinator's hash of the topics changes (KIP-1101), and nothing else does."""
    with EmbeddedKafka(version=VERSIONS[0], racks=["one"], properties=BROKER) as kafka:
        bootstrap = kafka.bootstrap_servers
        create_topic(bootstrap, "t", 2)
        with (
            observing(bootstrap, events_topic="published", settle_seconds=0.2) as watched,
            closing(Plain(bootstrap, "g", "t", **KIP_848)) as one,
        ):
            eventually(lambda: len(one.owned) == 2 and causes(bootstrap))
            kafka.stop_broker(1)
            settings = kafka.directory / "broker-1" / "server.properties"
            text = settings.read_text(encoding="ascii")
            assert text.count(RACK) == 1
            settings.write_text(text.replace(RACK, ANOTHER), encoding="ascii")
            kafka.start_broker(1)
            eventually(lambda: causes(bootstrap)[-1] == ["racks_changed"], waiting_for=causes(bootstrap))
            assert watched.metric("rebalance_agent_unknown_tagged_fields_total") == 0


def causes(bootstrap):
    """The causes of each rebalance of the group."""
    return [each["causes"] for each in events(bootstrap, "published", group="g") if each.get("closes_episode")]
