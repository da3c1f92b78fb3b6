"""Effects that operators notice: records consumed again, pods instead of member ids, and one rollout for a deploy."""

from __future__ import annotations

import asyncio
import threading
import uuid
from contextlib import ExitStack

import pytest
from confluent_kafka import Producer

from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.instrumentation.delivery import reporter
from rebalance_agent.instrumentation.delivery.heartbeat import Heartbeat
from support.observer.observing import answered, beside, create_topic, events, eventually, observing
from support.observer.sidecars import Sidecar as SidecarThatTakes

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning"),  # importing kafka-python warns
]

PATIENCE_S = 60
PARTITIONS = 4
RECORDS = 200


@pytest.fixture
def names():
    unique = uuid.uuid4().hex[:8]
    return f"topic-{unique}", f"group-{unique}", f"events-{unique}"


class Member:
    """An instrumented kafka-python consumer that reads everything, commits nothing, and is polled by its own thread."""

    def __init__(self, bootstrap, group, topic, events_url, client_id, **configs):
        from rebalance_agent.clients.kafka_python.consumer import KafkaConsumer  # noqa: PLC0415

        self.read = 0
        self._stop = threading.Event()
        consumer = KafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            group_id=group,
            client_id=client_id,
            heartbeat_interval_ms=200,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            events_url=events_url,
            **configs,
        )

        def poll():
            while not self._stop.is_set():
                self.read += sum(map(len, consumer.poll(50).values()))
            consumer.close()

        self._thread = threading.Thread(target=poll, daemon=True)
        self._thread.start()

    def close(self):
        self._stop.set()
        self._thread.join(PATIENCE_S)


def produce(bootstrap, topic, partitions=PARTITIONS):
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for number in range(RECORDS):
        producer.produce(topic, b"-", partition=number % partitions)
    assert producer.flush(PATIENCE_S) == 0


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_uncommitted_records_are_reported_at_the_revocation(kafka, names, strategy):
    bootstrap, (topic, group, _) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, PARTITIONS)
    produce(bootstrap, topic)

    def reported(client_id):
        name = "kafka_rebalance_member_reprocessed_records_total"
        return sidecar.metric(name, consumergroup=group, client_id=client_id)

    with beside(None) as sidecar, ExitStack() as members:
        url = f"http://127.0.0.1:{sidecar.role.events_port}"

        def join(client_id):
            member = Member(bootstrap, group, topic, url, client_id, partition_assignment_strategy=strategy)
            members.callback(member.close)
            return member

        first = join("first")
        eventually(lambda: first.read == RECORDS)
        eventually(lambda: reported("first") == 0)
        second = join("second")
        # Half of the partitions move; an eager member revokes all, and reads the returned half again.
        eventually(lambda: reported("first") == (RECORDS if strategy == "range" else RECORDS / 2))
        eventually(lambda: second.read == RECORDS / 2)
        eventually(lambda: reported("second") == 0)
        for name in ("join", "sync"):
            waits = sidecar.metric(f"kafka_rebalance_member_{name}_seconds_count", consumergroup=group)
            assert waits >= 2


def test_a_sidecar_receives_heartbeats_of_a_process_without_events(kafka, names):
    bootstrap, (topic, group, _) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, PARTITIONS)
    beating = Heartbeat(reporter._beat_reporters, period_seconds=0.1)
    with beside(None) as sidecar:
        member = Member(bootstrap, group, topic, f"http://127.0.0.1:{sidecar.role.events_port}", "quiet")
        eventually(lambda: sidecar.metric("kafka_rebalance_member_partitions", consumergroup=group, client_id="quiet"))
        beating.start()
        eventually(lambda: any(client.has_heartbeat for client in sidecar.role._members._clients))
        member.close()
        beating._period_seconds = 3600.0


@pytest.mark.parametrize("committed", [False, True])
def test_a_confluent_consumer_counts_from_its_last_commit(kafka, names, committed):
    from rebalance_agent.clients.confluent_kafka import Consumer  # noqa: PLC0415

    bootstrap, (topic, group, _) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 1)
    produce(bootstrap, topic, 1)
    properties = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "heartbeat.interval.ms": 200,
        "log_level": 0,
    }
    with SidecarThatTakes() as sidecar:
        consumers = [Consumer({**properties, "client.id": "first"}, events_url=sidecar.url)]
        consumers[0].subscribe([topic])
        for number in range(RECORDS):
            eventually(lambda: consumers[0].poll(0.1))
            if number == RECORDS // 2:
                consumers[0].commit(asynchronous=False)
        if committed:
            consumers[0].commit(asynchronous=False)
        consumers.append(Consumer({**properties, "client.id": "second"}, events_url=sidecar.url))
        consumers[1].subscribe([topic])

        def revoked():
            for consumer in consumers:
                consumer.poll(0.05)
            return [each for each in sidecar.taken if each["client_id"] == "first" and each["callback"] == "revoked"]

        (event,) = eventually(revoked)
        assert event["reprocessed_records"] == (0 if committed else RECORDS - RECORDS // 2 - 1)
        for consumer in consumers:
            consumer.close()


def test_a_confluent_consumer_with_our_assignors_counts_from_the_groups_offset(kafka, names):
    from rebalance_agent.clients.confluent_assignors import Consumer  # noqa: PLC0415

    bootstrap, (topic, group, _) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 1)
    produce(bootstrap, topic, 1)
    properties = {
        "bootstrap.servers": bootstrap,
        "group.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
    }
    with SidecarThatTakes() as sidecar:
        consumer = Consumer(properties, events_url=sidecar.url)
        consumer.subscribe([topic])
        for number in range(RECORDS):
            eventually(lambda: consumer.poll(0.1))
            if number == RECORDS // 2:
                consumer.commit(asynchronous=False)
        consumer.close()
        assert sidecar.wait_for(lambda taken: any(each.get("callback") == "revoked" for each in taken))
        reported = [each["reprocessed_records"] for each in sidecar.taken if each["kind"] == "member"]
        assert sum(reported) == RECORDS - RECORDS // 2 - 1


def test_an_aiokafka_consumer_counts_its_uncommitted_records(kafka, names):
    bootstrap, (topic, group, _) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, PARTITIONS)
    produce(bootstrap, topic)

    async def consume(url):
        from rebalance_agent.clients.aiokafka import AIOKafkaConsumer  # noqa: PLC0415

        consumer = AIOKafkaConsumer(
            topic,
            bootstrap_servers=bootstrap,
            group_id=group,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            events_url=url,
        )
        await consumer.start()
        try:
            for number in range(RECORDS):
                await consumer.getone()
                if number == RECORDS // 2:
                    await consumer.commit()
        finally:
            await consumer.stop()

    with SidecarThatTakes() as sidecar:
        asyncio.run(consume(sidecar.url))
        assert sidecar.wait_for(lambda taken: any(each.get("callback") == "left" for each in taken))
        reported = [each["reprocessed_records"] for each in sidecar.taken if each["kind"] == "member"]
        assert sum(reported) == RECORDS - RECORDS // 2 - 1
        assert any("join_seconds" in each and "sync_seconds" in each for each in sidecar.taken)


def test_a_rolling_restart_is_one_rollout_of_members_in_known_pods(kafka, names, monkeypatch):
    bootstrap, (topic, group, published) = kafka.bootstrap_servers, names
    for name, value in (("POD_NAME", "orders-0"), ("WORKLOAD", "orders"), ("IMAGE", "orders:7")):
        monkeypatch.setenv(name, value)
    create_topic(bootstrap, topic, PARTITIONS)
    with (
        observing(bootstrap, events_topic=published) as observer,
        beside(bootstrap, events_topic=published) as sidecar,
        ExitStack() as members,
    ):
        url = f"http://127.0.0.1:{sidecar.role.events_port}"

        def view(watched=observer):
            return next((each for each in watched.role.views() if each.group == group), None)

        def join(number):
            member = Member(bootstrap, group, topic, url, f"orders-{number}")
            members.callback(member.close)
            return member

        def all_in_their_pod(watched=observer):
            there = view(watched)
            pods = [each.where and each.where.pod for each in there.members] if there else []
            return pods == ["orders-0"] * 3 and there.unassigned == 0

        crew = [join(number) for number in range(3)]
        eventually(all_in_their_pod)
        assert observer.metric("kafka_rebalance_rollout_in_progress", consumergroup=group) == 0
        for number, member in enumerate(crew):
            member.close()
            eventually(lambda: len(view().members) == 2)
            join(number)
            eventually(lambda: len(view().members) == 3)
        eventually(lambda: view().rollout and view().rollout.members_replaced == 3)
        rollout = view().rollout
        assert (rollout.members, rollout.workload, rollout.to_images) == (3, "orders", ("orders:7",))
        assert rollout.rebalances >= 6
        eventually(lambda: observer.metric("kafka_rebalance_rollout_in_progress", consumergroup=group) == 1)
        assert observer.metric("kafka_rebalance_flapping_members", consumergroup=group) == 0
        found = events(bootstrap, published, group=group)
        assert {each["event_id"] for each in found if each["kind"] == "rollout"} == {rollout.event_id}
        generations = [each for each in found if each["kind"] == "generation"]
        assert {each["where"]["pod"] for event in generations for each in event["members"] if "where" in each} == {
            "orders-0"
        }
        with observing(bootstrap, events_topic=published) as another:
            # Its members currently report nothing; earlier reports suffice to know their pods.
            eventually(lambda: all_in_their_pod(another))


def test_the_limit_of_a_groups_record_is_known(kafka, names):
    bootstrap, (topic, _, _) = kafka.bootstrap_servers, names
    create_topic(bootstrap, topic, 1)
    cluster = Cluster({"bootstrap.servers": bootstrap})
    assert answered(lambda: cluster.topic_setting(topic, "max.message.bytes")) == "1048588"
