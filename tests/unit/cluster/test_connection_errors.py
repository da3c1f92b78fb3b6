"""Errors of connections name the setting that may be wrong."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from confluent_kafka import KafkaError, KafkaException

from rebalance_agent.cluster.admin_client import Cluster
from rebalance_agent.errors import ClusterError

HINT = (
    "the servers accept connections but no requests: if they require a login, set security.protocol to SASL_PLAINTEXT"
)


def failing(properties, last_error):
    """A cluster that does not answer, and whose connections end with this text."""
    made = Cluster({"bootstrap.servers": "127.0.0.1:9", "log_level": "0", **properties})

    def unanswered(**_):
        raise KafkaException(KafkaError(KafkaError._TRANSPORT))

    made._admin = SimpleNamespace(
        list_topics=unanswered, poll=lambda _: made._on_error(KafkaError(KafkaError._ALL_BROKERS_DOWN, last_error))
    )
    return made


@pytest.mark.parametrize(
    ("properties", "last_error", "text"),
    [
        ({}, "0/1 brokers are down", HINT),
        ({"security.protocol": "SSL"}, "0/2 brokers are down", HINT),
        (
            {
                "security.protocol": "SASL_PLAINTEXT",
                "sasl.mechanism": "PLAIN",
                "sasl.username": "u",
                "sasl.password": "p",
            },
            "0/1 brokers are down",
            "reading metadata: 0/1 brokers are down",
        ),
        ({}, "h:1/bootstrap: Connect failed: Connection refused", "Connect failed: Connection refused"),
    ],
)
def test_a_port_that_requires_a_login_is_recognised(properties, last_error, text):
    with pytest.raises(ClusterError, match=text):
        failing(properties, last_error).identify()
