"""TLS and SASL with one configuration for both clients, on a broker that asks for them."""

from __future__ import annotations

import gc
import logging
import shutil
import subprocess

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from rebalance_agent.clients.confluent import Consumer
from rebalance_agent.testing import EmbeddedKafka, embedded
from rebalance_agent.testing.settings import free_ports
from support.confluent import until

pytestmark = [
    pytest.mark.integration,
    pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl makes the certificates"),
]

PASSWORD = "not-a-secret"
JAAS = (
    "org.apache.kafka.common.security.plain.PlainLoginModule required "
    f'username="broker" password="{PASSWORD}" user_broker="{PASSWORD}" user_reader="{PASSWORD}";'
)


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A certificate of 127.0.0.1 that is its own authority, and its key."""
    directory = tmp_path_factory.mktemp("tls")
    certificate, key = directory / "certificate.pem", directory / "key.pem"
    command = (
        "openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj /CN=127.0.0.1 -addext subjectAltName=IP:127.0.0.1"
    )
    subprocess.run([*command.split(), "-keyout", key, "-out", certificate], check=True, capture_output=True)
    return certificate, key


@pytest.fixture(scope="module")
def secure(certificate):
    """The address of a broker's SASL_SSL listener, beside its plain one; topic ``t`` has a record."""
    (port,) = free_ports(1)
    plain = embedded.server_properties

    def both(*arguments):
        properties = plain(*arguments)
        for name in ("listeners", "advertised.listeners"):
            properties[name] += f",SECURE://127.0.0.1:{port}"
        return properties

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(embedded, "server_properties", both)
        with EmbeddedKafka(properties=properties_of(*certificate)) as kafka:
            admin = AdminClient({"bootstrap.servers": kafka.bootstrap_servers})
            admin.create_topics([NewTopic("t", 1, 1)])["t"].result(60)
            producer = Producer({"bootstrap.servers": kafka.bootstrap_servers})
            producer.produce("t", b"record")
            assert producer.flush(60) == 0
            yield f"127.0.0.1:{port}"


def properties_of(certificate, key):
    return {
        "listener.name.secure.sasl.enabled.mechanisms": "PLAIN",
        "listener.name.secure.plain.sasl.jaas.config": JAAS,
        "listener.name.secure.ssl.keystore.type": "PEM",
        "listener.name.secure.ssl.keystore.certificate.chain": certificate.read_text(),
        "listener.name.secure.ssl.keystore.key": key.read_text(),
        "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL",
    }


@pytest.fixture
def config(secure, certificate):
    return {
        "bootstrap.servers": secure,
        "group.id": "g",
        "auto.offset.reset": "earliest",
        "partition.assignment.strategy": "failover",
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "PLAIN",
        "sasl.username": "reader",
        "sasl.password": PASSWORD,
        "ssl.ca.location": str(certificate[0]),
        "log_level": 0,
    }


def test_membership_and_records_come_by_the_same_listener(config):
    with Consumer(config, events_url="") as consumer:
        consumer.subscribe(["t"])
        taken = []
        until(lambda: taken.append(consumer.poll(0.1)) or taken[-1] is not None)
        assert taken[-1].value() == b"record"
        assert consumer.commit(asynchronous=False)[0].offset == 1


@pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
@pytest.mark.parametrize(
    ("wrong", "code"),
    [({"sasl.password": "wrong"}, KafkaError._AUTHENTICATION), ({"ssl.ca.location": "probe"}, KafkaError._SSL)],
    ids=["password", "authority"],
)
def test_who_is_not_let_in_or_does_not_trust_the_broker_is_told_so_and_closes_in_time(config, wrong, code, caplog):
    # What is logged holds the sockets that kafka-python leaves to the garbage collector.
    caplog.set_level(logging.CRITICAL, logger="kafka")
    told = []
    with Consumer(config | wrong | {"error_cb": lambda error: told.append(error.code())}, events_url="") as consumer:
        consumer.subscribe(["t"])
        until(lambda: consumer.poll(0.1) is None and code in told)
        assert consumer.memberid() is None
    gc.collect()
