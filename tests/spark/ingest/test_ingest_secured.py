"""Spark's Java client connects to a broker with every kind of security that the pipeline converts."""

from __future__ import annotations

import pytest
from confluent_kafka import Producer
from py4j.protocol import Py4JJavaError

from rebalance_agent.pipeline.spark.kafka_options import source_options
from rebalance_agent.runtime.settings.kafka_config import client_properties
from support.kafka.certificates import needs_openssl
from support.kafka.secured import PASSWORD, USER, secured_kafka
from support.kafka.signed_tokens import SCOPE, signed_kafka
from support.observer.observing import create_topic

pytestmark = needs_openssl

KINDS = ("tls", "mtls", "plain_tls", "scram_256", "scram_512_tls")
TOPIC = "secured"


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    with secured_kafka(tmp_path_factory.mktemp("secured"), KINDS) as secured:
        produce_record(secured.kafka)
        yield secured


@pytest.fixture(scope="module")
def signed(tmp_path_factory):
    """Client properties without a login, and the token endpoint."""
    with signed_kafka(tmp_path_factory.mktemp("signed")) as (kafka, url):
        produce_record(kafka)
        login = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "OAUTHBEARER"}
        yield {"bootstrap.servers": kafka.address("OAUTH"), **login}, url


def produce_record(kafka):
    create_topic(kafka.bootstrap_servers, TOPIC, 1)
    producer = Producer({"bootstrap.servers": kafka.bootstrap_servers, "log_level": 0})
    producer.produce(TOPIC, b"record")
    assert producer.flush(60) == 0


def values(spark, properties):
    reader = spark.read.format("kafka").options(**source_options(properties))
    return [bytes(row["value"]) for row in reader.option("subscribe", TOPIC).load().select("value").collect()]


@pytest.mark.parametrize("kind", KINDS)
def test_spark_reads_with_every_kind_of_security(secured, spark, kind):
    assert values(spark, client_properties(secured.properties(kind))) == [b"record"]


def test_spark_reads_with_a_token_that_the_broker_verifies(signed, spark):
    properties, url = signed
    oidc = {"method": "oidc", "token.endpoint.url": url, "client.id": USER, "client.secret": PASSWORD, "scope": SCOPE}
    login = {f"sasl.oauthbearer.{name}": value for name, value in oidc.items()}
    assert values(spark, properties | login) == [b"record"]


def test_spark_reads_with_a_login_of_azure_and_the_secret_in_the_environment(signed, spark, monkeypatch):
    properties, url = signed
    application = {"TENANT_ID": "tenant", "CLIENT_ID": USER, "CLIENT_SECRET": PASSWORD}
    for name, value in {**application, "AUTHORITY_HOST": url.removesuffix("/token")}.items():
        monkeypatch.setenv(f"AZURE_{name}", value)
    login = {"sasl.oauthbearer.method": "azure", "sasl.oauthbearer.config": f"scope={SCOPE}"}
    assert values(spark, properties | login) == [b"record"]


def test_a_wrong_password_is_refused_and_no_error_contains_the_secret(secured, spark):
    properties = client_properties(secured.properties("scram_256")) | {"sasl.password": "wrong-secret"}
    with pytest.raises(Py4JJavaError, match="invalid credentials") as refused:
        values(spark, properties)
    assert "wrong-secret" not in str(refused.value)
