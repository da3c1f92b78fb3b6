"""Dead letter queues of share groups (KIP-1191), and what Kafka writes to them, on the session's broker."""

from __future__ import annotations

import uuid
from contextlib import closing

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource

from support.gateway.gateway_members import LONG_S
from support.members.member_lines import java_share_member
from support.members.share_consumer import share_consumer
from support.observer.observing import create_topic, eventually, observing

pytestmark = pytest.mark.integration

INFO = "kafka_rebalance_share_dead_letter_queue_info"
TOPIC, COPY = "errors.deadletterqueue.topic.name", "errors.deadletterqueue.copy.record.enable"
HEADERS = ("topic", "partition", "offset", "group", "delivery.count", "message")


@pytest.fixture(autouse=True)
def _since_4_4(kafka):
    if tuple(map(int, kafka.version.split(".")[:2])) < (4, 4):
        pytest.skip("Kafka has dead letter queues since 4.4")


@pytest.fixture
def names():
    """A topic, a share group and its dead letter queue, for this test only."""
    unique = uuid.uuid4().hex[:8]
    return f"topic-{unique}", f"share-{unique}", f"dlq.{unique}"


@pytest.fixture
def _read_often(monkeypatch):
    monkeypatch.setattr("rebalance_agent.runtime.watch.cluster_watch.LOOK_EVERY_S", 0.5)
    monkeypatch.setattr("rebalance_agent.polls.settings.read_schedule.REFRESH_S", 1.0)


def alter(bootstrap, kind, name, settings):
    entries = [ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET) for key, value in settings.items()]
    resource = ConfigResource(kind, name, incremental_configs=entries)
    admin = AdminClient({"bootstrap.servers": bootstrap, "log_level": 0})
    admin.incremental_alter_configs([resource])[resource].result()


@pytest.mark.usefixtures("_read_often")
def test_metric_api_and_page_follow_the_settings_of_the_group(kafka, names):
    bootstrap, (topic, group, queue) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 1)

    with observing(bootstrap, events_topic="") as watched, share_consumer(kafka, group, topic):

        def shown():
            return {
                copies
                for copies in ("true", "false")
                if watched.metric(INFO, consumergroup=group, topic=queue, copies_records=copies)
            }

        eventually(lambda: watched.source(group) == "records", LONG_S, waiting_for=names)
        none = {"topic": "", "copies_records": False}
        eventually(lambda: watched.detail(group).get("dead_letter_queue") == none, waiting_for=names)
        assert shown() == set()
        assert "dead letter queue: none (archived" in watched.get(f"/group?name={group}")[1]
        for copies in ("true", "false"):
            alter(bootstrap, "group", group, {TOPIC: queue, COPY: copies})
            eventually(lambda copies=copies: shown() == {copies}, waiting_for=names)
        assert watched.detail(group)["dead_letter_queue"] == {"topic": queue, "copies_records": False}
        assert f"dead letter queue: {queue} (only headers are written)" in watched.get(f"/group?name={group}")[1]
        alter(bootstrap, "group", group, {TOPIC: ""})
        eventually(lambda: shown() == set(), waiting_for=names)


@pytest.mark.parametrize("copies", [True, False])
def test_kafka_copies_keys_and_values_or_writes_only_headers(kafka, names, copies):
    """The words of the page and of docs/reference/gateway.md."""
    bootstrap, (topic, group, queue) = kafka.bootstrap_servers, names
    for name in (topic, queue):
        create_topic(bootstrap, name, 1)
    alter(bootstrap, "topic", queue, {"errors.deadletterqueue.group.enable": "true"})
    copy = {TOPIC: queue, COPY: str(copies).lower()}
    alter(bootstrap, "group", group, {"share.auto.offset.reset": "earliest", **copy})
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    producer.produce(topic, "REJECT", key="key", headers={"own": b"header"})
    assert producer.flush(LONG_S) == 0
    reader = Consumer({"bootstrap.servers": bootstrap, "group.id": f"reader-{group}", "auto.offset.reset": "earliest"})
    reader.subscribe([queue])
    with closing(reader), closing(java_share_member(bootstrap, group, topic, "one", "explicit")):
        (written,) = eventually(lambda: reader.consume(1, 0.1), LONG_S, waiting_for=names)
    assert (written.key(), written.value()) == ((b"key", b"REJECT") if copies else (None, None))
    headers = dict(written.headers())
    assert headers.keys() == {f"__dlq.errors.{name}" for name in HEADERS}
    assert [headers[f"__dlq.errors.{name}"] for name in HEADERS[:4]] == [topic.encode(), b"0", b"0", group.encode()]
