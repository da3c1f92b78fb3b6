"""The offsets topic loses its records, and then is deleted, while the observer reads it. On its own broker."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from rebalance_agent.groupprotocol.classic_group import classic_group
from rebalance_agent.groupprotocol.records import decode_record
from rebalance_agent.testing import EmbeddedKafka
from support.observer.observing import create_topic, events, eventually, everything, members, observing

pytestmark = pytest.mark.integration

TOPIC = "__consumer_offsets"
BROKER = {
    "offsets.topic.num.partitions": "2",
    "log.retention.check.interval.ms": "200",
    "log.initial.task.delay.ms": "100",
}


def test_an_observer_survives_the_deletion_of_the_records_and_of_the_topic():
    with EmbeddedKafka(properties=BROKER) as kafka:
        bootstrap = kafka.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
        create_topic(bootstrap, "t", 2)
        with observing(bootstrap, settle_seconds=0.2) as watched, members(bootstrap, "g", "t", 1):
            eventually(lambda: _shown(watched) == (1, 1))
            with members(bootstrap, "left", "t", 1):
                eventually(lambda: _is_shown(watched, "left"))
            _set(admin, {"cleanup.policy": "delete", "retention.ms": "1"})
            eventually(lambda: not everything(bootstrap, TOPIC))
            _set(admin, {"cleanup.policy": "compact", "retention.ms": "-1"})
            with members(bootstrap, "g", "t", 1):
                eventually(lambda: _shown(watched) == (2, 2))
                with members(bootstrap, "g", "t", 1):
                    eventually(lambda: _shown(watched) == (3, 3))
                eventually(lambda: _shown(watched) == (4, 2))
                reported = lambda: [each["generation"] for each in events(bootstrap, "rebalance-events", group="g")]  # noqa: E731
                eventually(lambda: reported() == [1, 2, 3, 4])
                with observing(bootstrap, events_topic="") as another:
                    eventually(lambda: _shown(another) == (4, 2))
                admin.delete_topics([TOPIC])[TOPIC].result()
                # Its coordinator does not know the group any more: it starts again with its first generations.
                again = eventually(lambda: _held(bootstrap))
                assert again[0] < 4
                eventually(lambda: _shown(watched)[1] == 2 and _shown(watched) == _held(bootstrap))
                eventually(watched.ready)
                eventually(lambda: not _is_shown(watched, "left"))


def _is_shown(watched, group):
    return watched.metric("kafka_rebalance_members", consumergroup=group) is not None


def _shown(watched):
    """The group's generation and number of members."""
    return tuple(watched.metric(f"kafka_rebalance_{name}", consumergroup="g") for name in ("generation", "members"))


def _held(bootstrap):
    """The same from the group's last record in the topic; None without a topic or record."""
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    if TOPIC not in admin.list_topics(timeout=10).topics:
        return None
    read = [classic_group(decode_record(each.key(), each.value())) for each in everything(bootstrap, TOPIC)]
    groups = [group for group in read if group is not None]
    return (groups[-1].generation, len(groups[-1].members)) if groups else None


def _set(admin, properties):
    entries = [ConfigEntry(*each, incremental_operation=AlterConfigOpType.SET) for each in properties.items()]
    resource = ConfigResource(ConfigResource.Type.TOPIC, TOPIC, incremental_configs=entries)
    admin.incremental_alter_configs([resource])[resource].result()
