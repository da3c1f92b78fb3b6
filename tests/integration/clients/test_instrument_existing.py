"""`rebalance_agent.instrument`: consumers of the clients' own classes report, on a real broker."""

from __future__ import annotations

import asyncio
import uuid

import aiokafka
import confluent_kafka
import kafka as kafka_python
import pytest
from kafka.consumer.subscription_state import ConsumerRebalanceListener

import rebalance_agent
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.model.events import Callback
from support.gateway.running import gateway
from support.observer.observing import PATIENCE_S, create_topic, eventually
from support.observer.sidecars import arrives, reported

pytestmark = pytest.mark.integration

PARTITIONS = 4
POLLS_MAX = 600
POLL_MS = 30_000


@pytest.fixture
def topic(kafka):
    name = f"existing-{uuid.uuid4().hex[:8]}"
    create_topic(kafka.bootstrap_servers, name, PARTITIONS)
    return name


def callbacks(sidecar):
    return [(event["callback"], event["partitions"]) for event in reported(sidecar, kind="member")]


def produce(bootstrap, topic):
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    producer.produce(topic, b"a record")
    assert producer.flush(PATIENCE_S) == 0


def until(condition, poll):
    for _ in range(POLLS_MAX):
        if condition():
            return
        poll()
    pytest.fail("the condition never came")


def test_kafka_python_that_subscribed_but_has_not_joined(kafka, topic, sidecar):
    class Listener(ConsumerRebalanceListener):
        calls = ()

        def on_partitions_assigned(self, assigned):
            self.calls += (len(assigned),)

        def on_partitions_revoked(self, revoked):
            pass

    listener, seen = Listener(), []
    consumer = kafka_python.KafkaConsumer(
        bootstrap_servers=kafka.bootstrap_servers, group_id=topic, client_id="existing", auto_offset_reset="earliest"
    )
    consumer.subscribe([topic], listener=listener)
    same = rebalance_agent.instrument(consumer, events_url=sidecar.url, on_event=seen.append)
    assert same is consumer
    assert isinstance(consumer, kafka_python.KafkaConsumer)
    with pytest.raises(InvalidInputError, match="already reports its rebalances"):
        rebalance_agent.instrument(consumer)
    produce(kafka.bootstrap_servers, topic)
    # kafka-python forgets a join that takes longer than its poll, and then has no partitions. A record ends this poll.
    until(consumer.assignment, lambda: consumer.poll(POLL_MS))
    consumer.close()
    arrives(sidecar, 1, kind="member", callback="left")
    # kafka-python itself may join before it has the topic's metadata; then the first assignment is empty.
    assigned = reported(sidecar, callback="assigned")[-1]
    assert (assigned["partitions"], assigned["client_id"]) == ({topic: "0-3"}, "existing")
    assert assigned["join_seconds"] > 0
    decision = reported(sidecar, kind="assign")[-1]
    assert (decision["assignor"], decision["partitions"]) == ("range", PARTITIONS)
    assert listener.calls[-1] == PARTITIONS
    assert consumer._instrumentation._builder._reporter.callbacks.finish(PATIENCE_S)
    assert seen == sidecar.taken


def test_aiokafka_before_its_start(kafka, topic, sidecar):
    async def run():
        consumer = aiokafka.AIOKafkaConsumer(topic, bootstrap_servers=kafka.bootstrap_servers, group_id=topic)
        assert rebalance_agent.instrument(consumer, events_url=sidecar.url) is consumer
        await consumer.start()
        await consumer.stop()

    asyncio.run(run())
    arrives(sidecar, 1, kind="member", callback="left")
    assert callbacks(sidecar) == [("assigned", {topic: "0-3"}), ("left", {topic: "0-3"})]
    [decision] = arrives(sidecar, kind="assign")
    assert decision["assignor"] == "roundrobin"
    named = {"name": "aiokafka", "version": aiokafka.__version__}
    assert reported(sidecar, kind="member", callback="assigned")[0]["software"] == named
    assert arrives(sidecar, kind="member", callback="assigned")[0]["join_seconds"] > 0


def test_confluent_kafka_by_a_proxy(kafka, topic, sidecar):
    seen = []
    settings = {"bootstrap.servers": kafka.bootstrap_servers, "group.id": topic, "client.id": "existing"}
    own = confluent_kafka.Consumer(settings)
    consumer = rebalance_agent.instrument(own, client_id="existing", events_url=sidecar.url)
    assert isinstance(consumer, confluent_kafka.Consumer)
    consumer.subscribe([topic], on_assign=lambda given, partitions: seen.append((given is consumer, len(partitions))))
    until(consumer.assignment, lambda: consumer.poll(0.1))
    with pytest.raises(InvalidInputError, match="has joined its group"):
        rebalance_agent.instrument(own)
    assert own.assignment() == consumer.assignment()
    consumer.close()
    arrives(sidecar, 1, kind="member", callback="left")
    assert callbacks(sidecar) == [("assigned", {topic: "0-3"}), ("revoked", {topic: "0-3"}), ("left", {})]
    assert {event["client_id"] for event in sidecar.taken} == {"existing"}
    assert {event["group"] for event in sidecar.taken} == {topic}
    assert sidecar.taken[0]["generation"] == 1
    assert seen == [(True, PARTITIONS)]


def of_confluent_kafka(bootstrap, group, sidecar):
    own = confluent_kafka.Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    return rebalance_agent.instrument(own, client_id="rdkafka", events_url=sidecar.url)


def of_kafka_python(bootstrap, group, sidecar):
    own = kafka_python.KafkaConsumer(bootstrap_servers=bootstrap, group_id=group, auto_offset_reset="earliest")
    return rebalance_agent.instrument(own, events_url=sidecar.url)


@pytest.mark.parametrize(("make", "wait"), [(of_confluent_kafka, 0.1), (of_kafka_python, POLL_MS)])
def test_the_reported_library_is_the_one_that_the_client_names_to_brokers(kafka, topic, sidecar, make, wait):
    """A gateway reads the library from the client's ApiVersions request."""
    produce(kafka.bootstrap_servers, topic)
    with gateway(kafka.bootstrap_servers) as through:
        consumer = make(through.bootstrap, topic, sidecar)
        consumer.subscribe([topic])
        until(lambda: reported(sidecar, callback="assigned"), lambda: consumer.poll(wait))
        named = eventually(lambda: through.reported(Callback.ASSIGNED))[0].software
        consumer.close()
    assert (named.name, named.version) != ("", "")
    assert reported(sidecar, callback="assigned")[0]["software"] == {"name": named.name, "version": named.version}
