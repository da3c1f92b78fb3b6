"""Groups of the newest broker: facts that only its records show."""

from __future__ import annotations

from contextlib import closing

import pytest

from rebalance_agent.testing import EmbeddedKafka
from rebalance_agent.testing.kafka.kafka_versions import VARIABLE, VERSIONS
from support.gateway.running import Plain
from support.observer.observing import create_topic, events, eventually, observing
from support.scenarios.start_member import start_member

pytestmark = pytest.mark.integration

BROKER = {"group.consumer.heartbeat.interval.ms": "500", "group.consumer.min.heartbeat.interval.ms": "500"}
KIP_848 = {"group.protocol": "consumer", "heartbeat.interval.ms": None, "session.timeout.ms": None}
STREAMS = {
    "group.streams.initial.rebalance.delay.ms": "0",
    "group.streams.heartbeat.interval.ms": "500",
    "group.streams.min.heartbeat.interval.ms": "500",
}
OBSERVER = {"events_topic": "published", "settle_seconds": 0.2}
RACK, ANOTHER = "broker.rack=one", "broker.rack=another"


def test_a_broker_in_another_rack_is_the_cause_of_a_rebalance():
    """The coordinator's hash of the topics changes (KIP-1101), and nothing else does."""
    with EmbeddedKafka(version=VERSIONS[0], racks=["one"], properties=BROKER) as kafka:
        bootstrap = kafka.bootstrap_servers
        create_topic(bootstrap, "t", 2)
        with (
            observing(bootstrap, **OBSERVER) as watched,
            closing(Plain(bootstrap, "g", "t", **KIP_848)) as one,
        ):
            eventually(lambda: len(one.owned) == 2 and causes(bootstrap))
            move_broker(kafka)
            eventually(lambda: causes(bootstrap)[-1] == ["racks_changed"], waiting_for=causes(bootstrap))
            assert watched.metric("rebalance_agent_unknown_tagged_fields_total") == 0


def test_a_broker_in_another_rack_is_the_cause_of_a_rebalance_of_a_streams_group(monkeypatch, tmp_path):
    """The coordinator validated the topics for both epochs, and only its hash of them changes."""
    monkeypatch.setenv(VARIABLE, VERSIONS[0])  # for Kafka Streams
    with EmbeddedKafka(racks=["one"], properties=STREAMS) as kafka:
        bootstrap = kafka.bootstrap_servers
        # Before the observer starts: a topic that it lists only after the first epoch may have been created again.
        create_topic(bootstrap, "t", 4)
        with observing(bootstrap, **OBSERVER), closing(start_member(kafka, config(bootstrap, str(tmp_path)))) as one:
            eventually(lambda: one.held() == 4 and causes(bootstrap) == [["group_started"]])
            move_broker(kafka)
            eventually(lambda: causes(bootstrap)[-1] == ["racks_changed"], waiting_for=lambda: causes(bootstrap))


def move_broker(kafka):
    """Restart the only broker in another rack."""
    kafka.stop_broker(1)
    settings = kafka.directory / "broker-1" / "server.properties"
    text = settings.read_text(encoding="ascii")
    assert text.count(RACK) == 1
    settings.write_text(text.replace(RACK, ANOTHER), encoding="ascii")
    kafka.start_broker(1)


def test_the_return_of_a_static_member_of_a_streams_group_moves_nothing(monkeypatch, tmp_path):
    monkeypatch.setenv(VARIABLE, VERSIONS[0])  # for Kafka Streams
    with EmbeddedKafka(properties=STREAMS) as kafka, observing(kafka.bootstrap_servers, **OBSERVER) as watched:
        create_topic(kafka.bootstrap_servers, "t", 4)

        def application():
            return closing(start_member(kafka, config(kafka.bootstrap_servers, str(tmp_path))))

        with application() as one:
            eventually(lambda: one.held() == 4 and causes(kafka.bootstrap_servers) == [["group_started"]])
        with application() as two:
            eventually(lambda: two.held() == 4 and causes(kafka.bootstrap_servers)[1:] == [["member_replaced"]])
        assert watched.metric("rebalance_agent_unknown_tagged_fields_total") == 0


def config(bootstrap, directory):
    """A static member of a streams group: its restart takes longer than a short session."""
    settings = {"group.instance.id": "one"}
    names = {"group": "g", "topics": ["t"], "name": "a", "client": "streams-timed"}
    places = {"bootstrap": bootstrap, "directory": directory, "events_url": ""}
    return {**names, **places, "killable": False, "settings": settings}


def causes(bootstrap):
    """The causes of each rebalance of the group."""
    return [each["causes"] for each in events(bootstrap, "published", group="g") if each.get("closes_episode")]
