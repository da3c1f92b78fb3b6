"""Groups deleted together with their records: only their coordinator shows that they are gone. On its own broker."""

from __future__ import annotations

import pytest
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.runtime.watch import cluster_watch as watch
from rebalance_agent.testing import EmbeddedKafka
from support.observer.observing import KIP_848, answered, create_topic, eventually, everything, members, observing

pytestmark = pytest.mark.integration

TOPIC = "__consumer_offsets"
BROKER = {
    "offsets.topic.num.partitions": "2",
    "log.retention.check.interval.ms": "200",
    "log.initial.task.delay.ms": "100",
}
OFTEN = {"list_all_interval_seconds": 0.5, "topics_interval_seconds": 0.5}


def test_groups_deleted_without_a_tombstone_are_no_longer_shown(monkeypatch):
    monkeypatch.setattr(watch, "VANISHED_EVERY_S", 0.3)
    with EmbeddedKafka(properties=BROKER) as kafka:
        bootstrap = kafka.bootstrap_servers
        create_topic(bootstrap, "t", 2)
        with observing(bootstrap, **OFTEN) as watched, members(bootstrap, "stays", "t"):
            with members(bootstrap, "classic", "t"), members(bootstrap, "consumer", "t", **KIP_848):
                eventually(lambda: _shown(watched) == {"stays", "classic", "consumer"})
            eventually(lambda: _members(watched) == {"stays": 1, "classic": 0, "consumer": 0})
            _set(bootstrap, {"cleanup.policy": "delete", "retention.ms": "1"})
            eventually(lambda: not everything(bootstrap, TOPIC))
            _set(bootstrap, {"cleanup.policy": "compact", "retention.ms": "-1"})
            # Its coordinator still has the groups, and lists them.
            assert _shown(watched) == {"stays", "classic", "consumer"}
            kafka.stop_broker(1)
            kafka.start_broker(1)
            eventually(lambda: _shown(watched) == {"stays"})
            eventually(watched.ready)
            cluster = Cluster({"bootstrap.servers": bootstrap})
            assert answered(lambda: cluster.absent_groups(["classic", "stays"])) == {"classic"}


def _members(watched):
    name = 'kafka_rebalance_members{consumergroup="'
    shown = watched.metrics().items()
    return {each.removeprefix(name).removesuffix('"}'): value for each, value in shown if each.startswith(name)}


def _shown(watched):
    return set(_members(watched))


def _set(bootstrap, properties):
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    entries = [ConfigEntry(*each, incremental_operation=AlterConfigOpType.SET) for each in properties.items()]
    resource = ConfigResource(ConfigResource.Type.TOPIC, TOPIC, incremental_configs=entries)
    admin.incremental_alter_configs([resource])[resource].result()
