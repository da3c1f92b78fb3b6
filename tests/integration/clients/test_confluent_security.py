"""TLS and SASL with one configuration for both clients, on a broker that requires them."""

from __future__ import annotations

import gc
import logging

import pytest
from confluent_kafka import KafkaError, Producer
from confluent_kafka.admin import AdminClient, NewTopic

from rebalance_agent.clients.confluent_assignors import Consumer
from support.kafka.certificates import needs_openssl
from support.kafka.secured import PASSWORD, secured_kafka
from support.members.confluent import until

pytestmark = [pytest.mark.integration, needs_openssl]


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    """A broker with a SASL_SSL listener besides its plain one; topic ``t`` has a record."""
    with secured_kafka(tmp_path_factory.mktemp("tls"), ["plain_tls"]) as secured:
        plain = secured.kafka.bootstrap_servers
        admin = AdminClient({"bootstrap.servers": plain})
        admin.create_topics([NewTopic("t", 1, 1)])["t"].result(60)
        producer = Producer({"bootstrap.servers": plain})
        producer.produce("t", b"record")
        assert producer.flush(60) == 0
        yield secured


@pytest.fixture
def config(secured):
    properties = secured.properties("plain_tls")
    del properties["sasl.password.file"]
    return properties | {
        "group.id": "g",
        "auto.offset.reset": "earliest",
        "partition.assignment.strategy": "failover",
        "sasl.password": PASSWORD,
        "log_level": 0,
    }


def test_membership_and_records_use_the_same_listener(config):
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
def test_a_client_without_access_or_trust_gets_an_error_and_closes_in_time(config, wrong, code, caplog):
    # Log records keep references to sockets that kafka-python leaves to the garbage collector.
    caplog.set_level(logging.CRITICAL, logger="kafka")
    reported = []
    with Consumer(
        config | wrong | {"error_cb": lambda error: reported.append(error.code())}, events_url=""
    ) as consumer:
        consumer.subscribe(["t"])
        until(lambda: consumer.poll(0.1) is None and code in reported)
        assert consumer.memberid() is None
    gc.collect()
