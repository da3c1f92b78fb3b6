"""Real clients and a real broker with a gateway in between work as without it, without losses."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import socket
import struct
import uuid

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient, ConfigResource
from kafka.protocol.admin import DescribeClusterRequest, DescribeClusterResponse
from kafka.protocol.consumer import FetchRequest, ListOffsetsRequest
from kafka.protocol.metadata import (
    ApiVersionsRequest,
    ApiVersionsResponse,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    MetadataRequest,
    MetadataResponse,
)

from rebalance_agent.gateway.transport.kafka_messages import open_frame
from rebalance_agent.gateway.transport.request_head import read_head
from support.gateway.gatewaying import free_base, gatewaying
from support.observer.observing import create_topic, eventually

pytestmark = [
    pytest.mark.integration,
    pytest.mark.filterwarnings("ignore:.*_text is deprecated:DeprecationWarning"),  # importing kafka-python warns
]

PATIENCE_S = 60


@pytest.fixture
def topic(kafka):
    name = f"through-gateway-{uuid.uuid4().hex[:8]}"
    create_topic(kafka.bootstrap_servers, name, 3)
    return name


@pytest.fixture
def gateway(kafka):
    with gatewaying(kafka.bootstrap_servers) as running:
        yield running


def answered(bootstrap, *frames):
    """The responses, header and body, to requests sent in order on one connection."""
    host, _, port = bootstrap.rpartition(":")
    answers = []
    with (
        socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection,
        connection.makefile("rb") as file,
    ):
        for frame in frames:
            connection.sendall(struct.pack(">i", len(frame)) + frame)
            (size,) = struct.unpack(">i", file.read(4))
            answers.append(file.read(size))
    return answers


def frame_of(message, correlation_id=7):
    message.with_header(correlation_id=correlation_id, client_id="test")
    return bytes(message.encode(header=True))


def read_apis(topic):
    """Requests of every version whose responses the gateway reads."""
    for version in range(MetadataResponse.max_version + 1):
        wanted = MetadataRequest.MetadataRequestTopic(version=version, name=topic)
        yield MetadataResponse, MetadataRequest(version=version, topics=[wanted], allow_auto_topic_creation=False)
    for version in range(FindCoordinatorResponse.max_version + 1):
        keys = {"coordinator_keys": ["g", "h"]} if version >= 4 else {"key": "g"}
        yield FindCoordinatorResponse, FindCoordinatorRequest(version=version, key_type=0, **keys)
    for version in range(DescribeClusterResponse.max_version + 1):
        more = {"endpoint_type": 1} if version else {}
        yield (
            DescribeClusterResponse,
            DescribeClusterRequest(version=version, include_cluster_authorized_operations=True, **more),
        )
    for version in range(ApiVersionsResponse.max_version + 1):
        yield (
            ApiVersionsResponse,
            ApiVersionsRequest(version=version, client_software_name="test", client_software_version="1"),
        )


def test_real_responses_are_encoded_again_byte_for_byte(kafka, topic):
    for kind, message in read_apis(topic):
        frame = frame_of(message)
        (answer,) = answered(kafka.bootstrap_servers, frame)
        assert open_frame(kind, read_head(frame), answer).frame() == answer, message


def untouched(topic):
    """Requests whose responses must pass unread; the requested data does not change during the test."""
    fetch = FetchRequest.FetchTopic
    for version in range(4, 13):
        partition = fetch.FetchPartition(version=version, partition=0, fetch_offset=0, partition_max_bytes=1_000_000)
        yield FetchRequest(
            version=version,
            replica_id=-1,
            max_wait_ms=100,
            min_bytes=1,
            max_bytes=1_000_000,
            isolation_level=0,
            topics=[fetch(version=version, topic=topic, partitions=[partition])],
        )
    for version in range(1, 8):
        topics = ListOffsetsRequest.ListOffsetsTopic
        partition = topics.ListOffsetsPartition(version=version, partition_index=0, timestamp=-1)
        yield ListOffsetsRequest(
            version=version,
            replica_id=-1,
            isolation_level=0,
            topics=[topics(version=version, name=topic, partitions=[partition])],
        )


def test_forwarded_frames_have_the_same_bytes_with_and_without_a_gateway(kafka, gateway, topic):
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    for number in range(100):
        producer.produce(topic, bytes([number]) * 5_000, partition=0)
    producer.flush()
    frames = [frame_of(message, number) for number, message in enumerate(untouched(topic))]
    assert answered(gateway.bootstrap, *frames) == answered(kafka.bootstrap_servers, *frames)


def read_all(consumer, number):
    got = []

    def some():
        got.extend(message.value() for message in consumer.consume(100, 0.2) if not message.error())
        return len(got) >= number

    eventually(some, waiting_for=got)
    return got


def confluent(bootstrap, topic):
    producer = Producer({"bootstrap.servers": bootstrap, "transactional.id": uuid.uuid4().hex})
    producer.init_transactions()
    for ends in (producer.commit_transaction, producer.abort_transaction):
        producer.begin_transaction()
        for number in range(100):
            producer.produce(topic, f"{ends.__name__}-{number}")
        producer.flush()
        ends()
    without_acks = Producer({"bootstrap.servers": bootstrap, "acks": 0})
    without_acks.produce(topic, b"unacknowledged")
    without_acks.flush()
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": uuid.uuid4().hex,
            "auto.offset.reset": "earliest",
            "isolation.level": "read_committed",
        }
    )
    with contextlib.closing(consumer):
        consumer.subscribe([topic])
        got = read_all(consumer, 101)
        consumer.commit(asynchronous=False)
    assert sorted(got) == sorted(
        [*(f"commit_transaction-{number}".encode() for number in range(100)), b"unacknowledged"]
    )


def kafka_python(bootstrap, topic):
    from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer  # noqa: PLC0415

    with contextlib.closing(KafkaProducer(bootstrap_servers=bootstrap)) as producer:
        for number in range(100):
            producer.send(topic, str(number).encode())
        producer.flush()
    options = {"bootstrap_servers": bootstrap, "group_id": uuid.uuid4().hex, "auto_offset_reset": "earliest"}
    with contextlib.closing(KafkaConsumer(topic, **options)) as consumer:
        got = {record.value for record in itertools.islice(consumer, 100)}
    assert got == {str(number).encode() for number in range(100)}
    with contextlib.closing(KafkaAdminClient(bootstrap_servers=bootstrap)) as admin:
        assert admin.describe_topics([topic])[0]["name"] == topic


def aiokafka(bootstrap, topic):
    from aiokafka import AIOKafkaConsumer, AIOKafkaProducer  # noqa: PLC0415

    async def both():
        async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
            for number in range(100):
                await producer.send_and_wait(topic, str(number).encode())
        options = {"bootstrap_servers": bootstrap, "group_id": uuid.uuid4().hex, "auto_offset_reset": "earliest"}
        async with AIOKafkaConsumer(topic, **options) as consumer:
            return {(await consumer.getone()).value for _ in range(100)}

    assert asyncio.run(both()) == {str(number).encode() for number in range(100)}


@pytest.mark.parametrize("client", [confluent, kafka_python, aiokafka])
def test_clients_work_as_without_a_gateway_and_connect_only_to_the_gateway(gateway, topic, client):
    client(gateway.bootstrap, topic)
    assert gateway.metric("rebalance_agent_gateway_brokers") == 1
    assert gateway.metric("rebalance_agent_gateway_refused_total", reason="malformed") == 0


def test_an_admin_client_works(gateway, topic):
    admin = AdminClient({"bootstrap.servers": gateway.bootstrap})
    reported = admin.describe_cluster().result()
    assert [str(node.port) for node in reported.nodes] != [gateway.bootstrap.rpartition(":")[2]]
    assert topic in admin.list_topics(timeout=PATIENCE_S).topics
    resource = ConfigResource("topic", topic)
    assert "retention.ms" in admin.describe_configs([resource])[resource].result()
    admin.delete_topics([topic])[topic].result()


def test_a_restart_of_the_gateway_causes_no_rebalance(kafka, topic):
    settings = {"gateway_listen": f"127.0.0.1:{free_base()}"}
    settings["gateway_port_base"] = int(settings["gateway_listen"].rpartition(":")[2])
    group = uuid.uuid4().hex
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
    rebalances = []
    with contextlib.ExitStack() as stack:
        with gatewaying(kafka.bootstrap_servers, **settings) as gateway:
            consumer = Consumer(
                {
                    "bootstrap.servers": gateway.bootstrap,
                    "group.id": group,
                    "auto.offset.reset": "earliest",
                    "log_level": 0,
                    "reconnect.backoff.max.ms": 500,
                }
            )
            stack.callback(consumer.close)
            consumer.subscribe([topic], on_assign=lambda _, given: rebalances.append(len(given)))
            producer.produce(topic, b"before")
            producer.flush()
            assert read_all(consumer, 1) == [b"before"]
        with gatewaying(kafka.bootstrap_servers, **settings) as gateway:
            producer.produce(topic, b"after")
            producer.flush()
            assert read_all(consumer, 1) == [b"after"]
            consumer.commit(asynchronous=False)
            assert rebalances == [3]
            stack.close()


def test_brokers_have_their_ports_before_the_first_request(gateway):
    eventually(lambda: gateway.metric("rebalance_agent_gateway_brokers") == 1)
    assert gateway.metric("rebalance_agent_gateway_connections_opened_total") == 0
