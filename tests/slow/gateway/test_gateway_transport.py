"""The gateway with three failing brokers, and with brokers of every kind of security."""

from __future__ import annotations

import contextlib
import socket
import threading
import uuid

import pytest
from confluent_kafka import Consumer, Producer
from confluent_kafka.admin import AdminClient

from rebalance_agent.gateway import gateway_server as gateway_module
from rebalance_agent.gateway.transport import broker_listeners as listeners
from rebalance_agent.model.event_json import json_line
from rebalance_agent.testing import EmbeddedKafka
from support.gateway.gatewaying import free_base, gatewaying
from support.kafka.certificates import needs_openssl
from support.kafka.secured import PASSWORD, USER, secured_kafka
from support.observer.observing import create_topic, events, eventually, http
from support.observer.views import member_event

pytestmark = [pytest.mark.integration, pytest.mark.slow]

RECORDS = 30_000
QUIET = {"log_level": 0}


@pytest.fixture(scope="module")
def three():
    properties = {"min.insync.replicas": "2", "offsets.topic.replication.factor": "3"}
    with EmbeddedKafka(brokers=3, properties=properties) as kafka:
        yield kafka


def keep_producing(bootstrap, topic, stop, sent):
    """Until ``stop``: records that the brokers acknowledged are in ``sent``."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "enable.idempotence": True, "message.timeout.ms": 120_000, **QUIET}
    )

    def delivered(error, message):
        if error is None:
            sent.add(message.value())

    number = 0
    while not stop.wait(0.002):
        producer.produce(topic, str(number).encode(), on_delivery=delivered)
        producer.poll(0)
        number += 1
    assert producer.flush(120) == 0


def test_brokers_that_stop_and_return_lose_no_acknowledged_record(three):
    topic, group = f"failover-{uuid.uuid4().hex[:8]}", uuid.uuid4().hex
    create_topic(three.bootstrap_servers, topic, 6, 3)
    sent, got, stop = set(), set(), threading.Event()
    with gatewaying(three.bootstrap_servers) as gateway, contextlib.ExitStack() as stack:
        producing = threading.Thread(target=keep_producing, args=(gateway.bootstrap, topic, stop, sent))
        producing.start()
        stack.callback(producing.join)
        stack.callback(stop.set)
        consumer = Consumer(
            {"bootstrap.servers": gateway.bootstrap, "group.id": group, "auto.offset.reset": "earliest", **QUIET}
        )
        stack.callback(consumer.close)
        consumer.subscribe([topic])

        def some():
            got.update(message.value() for message in consumer.consume(500, 0.2) if not message.error())
            return got

        eventually(some)
        for node in (1, 2, 3):
            three.stop_broker(node)
            # Leaders and the group's coordinator move to the others; all clients continue.
            before = len(sent)
            eventually(lambda before=before: some() and len(sent) > before + 500, 120)
            three.start_broker(node)
            before = len(sent)
            eventually(lambda before=before: some() and len(sent) > before + 500, 120)
        stop.set()
        producing.join()
        eventually(lambda: some() >= sent, 120, waiting_for=lambda: len(sent - got))
        assert gateway.metric("rebalance_agent_gateway_brokers") == 3
        assert gateway.metric("rebalance_agent_gateway_refused_total", reason="malformed") == 0
        assert gateway.metric("rebalance_agent_gateway_refused_total", reason="failed") == 0


def test_an_added_broker_gets_a_port_and_a_removed_one_loses_it(three, monkeypatch):
    monkeypatch.setattr(listeners, "GONE_SECONDS", 3.0)
    monkeypatch.setattr(gateway_module, "SWEEP_SECONDS", 0.2)
    base = free_base(3)

    def seen(bootstrap):
        """The ports that a client gets."""
        admin = AdminClient({"bootstrap.servers": bootstrap, **QUIET})
        return {node.port for node in admin.describe_cluster().result().nodes}

    def taken(port):
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", port)) == 0

    with contextlib.ExitStack() as stack:
        three.stop_broker(3)
        stack.callback(three.start_broker, 3)
        eventually(lambda: len(seen(three.bootstrap_servers)) == 2)
        with gatewaying(three.bootstrap_servers, gateway_port_base=base) as gateway:
            eventually(lambda: seen(gateway.bootstrap) == {base + 1, base + 2})
            assert not taken(base + 3)
            stack.pop_all()
            three.start_broker(3)
            eventually(lambda: seen(gateway.bootstrap) == {base + 1, base + 2, base + 3})
            producer = Producer({"bootstrap.servers": f"127.0.0.1:{base + 3}", **QUIET})
            assert len(producer.list_topics(timeout=60).brokers) == 3
            three.stop_broker(3)
            stack.callback(three.start_broker, 3)
            eventually(lambda: seen(gateway.bootstrap) == {base + 1, base + 2} and not taken(base + 3), 120)
            assert gateway.metric("rebalance_agent_gateway_brokers") == 2


def test_many_records_are_forwarded_completely_and_in_order(three):
    topic = f"bulk-{uuid.uuid4().hex[:8]}"
    create_topic(three.bootstrap_servers, topic, 1, 1)
    with gatewaying(three.bootstrap_servers) as gateway:
        producer = Producer({"bootstrap.servers": gateway.bootstrap, "linger.ms": 20, **QUIET})
        for number in range(RECORDS):
            producer.produce(topic, number.to_bytes(4, "big") * 2_500)
            producer.poll(0)
            if number % 5_000 == 0:
                producer.flush()
        producer.flush()
        consumer = Consumer(
            {"bootstrap.servers": gateway.bootstrap, "group.id": topic, "auto.offset.reset": "earliest", **QUIET}
        )
        with contextlib.closing(consumer):
            consumer.subscribe([topic])
            expected = 0
            while expected < RECORDS:
                for message in consumer.consume(1_000, 5.0):
                    assert message.value() == expected.to_bytes(4, "big") * 2_500
                    expected += 1
        assert gateway.metric("rebalance_agent_gateway_bytes_total", direction="answers") > RECORDS * 10_000


SASL = {
    "plain": "PLAIN",
    "plain_tls": "PLAIN",
    "scram_512": "SCRAM-SHA-512",
    "scram_256_tls": "SCRAM-SHA-256",
    "oauth_tls": "OAUTHBEARER",
}


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    with secured_kafka(tmp_path_factory.mktemp("secured"), ("tls", "mtls", *SASL)) as kafka:
        yield kafka


def of_the_client(kind):
    """The properties of a client behind the gateway: its own login, and no TLS."""
    if kind not in SASL:
        return {}
    login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": SASL[kind]}
    if kind.startswith("oauth"):
        return login | {"enable.sasl.oauthbearer.unsecure.jwt": "true", "sasl.oauthbearer.config": f"principal={USER}"}
    return login | {"sasl.username": USER, "sasl.password": PASSWORD}


def of_the_gateway(properties):
    """The properties of the gateway: TLS to the brokers where they have it, and no login."""
    protocol = "SSL" if properties["security.protocol"].endswith("SSL") else "PLAINTEXT"
    return {name: value for name, value in properties.items() if "sasl" not in name} | {"security.protocol": protocol}


def tls_to_clients(secured):
    """The properties of the gateway and of its clients for TLS between them, with certificates on both sides."""
    served, client, signer = secured.authority.issue("served"), secured.authority.issue("client"), secured.authority
    files = {"cert": served.chain, "key": served.key, "client_ca": signer.certificate.chain}
    trusted = {"ssl.ca.location": str(signer.certificate.chain)}
    mine = {"ssl.certificate.location": str(client.chain), "ssl.key.location": str(client.key)}
    return {f"gateway_tls_{name}_file": str(path) for name, path in files.items()}, trusted | mine


@needs_openssl
@pytest.mark.parametrize("tls", [False, True], ids=["plaintext to the gateway", "TLS to the gateway"])
@pytest.mark.parametrize("kind", ["tls", "mtls", *SASL])
def test_clients_log_in_from_end_to_end_and_records_pass(secured, kind, tls):
    topic = f"secured-{kind.replace('_', '-')}-{tls}"
    ours, theirs = tls_to_clients(secured) if tls else ({}, {})
    with gatewaying(of_the_gateway(secured.properties(kind)), **ours) as gateway:
        client = {"bootstrap.servers": gateway.bootstrap, **of_the_client(kind), **theirs, **QUIET}
        if tls:
            client["security.protocol"] = "SASL_SSL" if kind in SASL else "SSL"
        producer = Producer(client)
        for number in range(1_000):
            producer.produce(topic, str(number).encode() * 100)
        assert producer.flush(60) == 0
        consumer = Consumer({**client, "group.id": topic, "auto.offset.reset": "earliest"})
        with contextlib.closing(consumer):
            consumer.subscribe([topic])
            got = set()

            def all_of_them():
                got.update(message.value() for message in consumer.consume(1_000, 0.5) if not message.error())
                return len(got) == 1_000

            eventually(all_of_them)


@needs_openssl
@pytest.mark.parametrize("kind", ["tls", "mtls", *SASL])
def test_a_gateway_with_its_own_login_finds_the_brokers_and_publishes_events(secured, kind):
    published = f"own-login-{kind.replace('_', '-')}"
    with gatewaying(secured.properties(kind), events_topic=published) as gateway:
        eventually(gateway.ready, waiting_for=gateway.parts)
        url = f"http://127.0.0.1:{gateway.role.events_port}/v1/events"
        status, text = http(url, json_line(member_event(group="g")))
        assert status < 300, text
        eventually(lambda: events(secured.kafka.bootstrap_servers, published, group="g"))


@needs_openssl
def test_a_wrong_password_is_refused_by_the_broker_and_the_gateway_goes_on(secured):
    with gatewaying(of_the_gateway(secured.properties("plain"))) as gateway:
        reported = []
        login = {"bootstrap.servers": gateway.bootstrap, **of_the_client("plain"), **QUIET}
        wrong = Producer({**login, "sasl.password": "wrong", "error_cb": lambda error: reported.append(error.str())})
        eventually(lambda: any("uthentication failed" in each for each in reported), between=lambda: wrong.poll(0.1))
        right = Producer(login)
        right.produce("secured-after", b"x")
        assert right.flush(60) == 0
