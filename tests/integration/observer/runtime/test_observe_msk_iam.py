"""An observer, a sidecar, a gateway and clients behind the gateway log in with IAM tokens, as on Amazon MSK."""

from __future__ import annotations

import pytest
from aws_msk_iam_sasl_signer import MSKAuthTokenProvider
from confluent_kafka import Producer

from rebalance_agent.artifacts.fetching import cache_directory, ensure_artifacts
from rebalance_agent.cluster.tokens import token_login
from rebalance_agent.model.event_json import json_line
from rebalance_agent.pipeline.spark.kafka_options import java_properties
from rebalance_agent.pipeline.spark.spark_jars import locked_jars
from rebalance_agent.testing.kafka.java import java_runtime
from support.aws.msk_iam import LOGIN, REGION, aws_environment, msk_kafka
from support.gateway.gatewaying import gatewaying
from support.java.client_jar import compiled_member
from support.observer.observing import beside, create_topic, events, eventually, http, members, observing
from support.observer.views import member_event
from support.telemetry.old_clients import java_of

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def kafka(tmp_path_factory):
    with msk_kafka(tmp_path_factory.mktemp("msk")) as kafka:
        create_topic(kafka.bootstrap_servers, "t", 2)
        yield kafka


@pytest.fixture(autouse=True)
def fresh_tokens():
    token_login.token_cache.cache_clear()


@pytest.fixture
def properties(kafka):
    return {"bootstrap.servers": kafka.address("IAM"), **LOGIN}


def test_observer_and_sidecar_log_in_with_tokens_that_brokers_verify(kafka, properties, monkeypatch):
    aws_environment(monkeypatch)
    published = "iam-events"
    with observing(None, kafka=properties, events_topic=published, settle_seconds=0.2) as watched:
        with members(kafka.bootstrap_servers, "iam-group", "t"):
            eventually(lambda: watched.metric("kafka_rebalance_generation", consumergroup="iam-group") == 1)
            eventually(lambda: events(kafka.bootstrap_servers, published, group="iam-group"))
        with beside(None, kafka=properties, events_topic=published) as sidecar:
            url = f"http://127.0.0.1:{sidecar.role.events_port}/v1/events"
            status, text = http(url, json_line(member_event(group="from-a-sidecar")))
            assert status < 300, text
            eventually(lambda: events(kafka.bootstrap_servers, published, group="from-a-sidecar"))


def client_login(monkeypatch, **changed):
    """The properties of a client that creates its own token, as in Amazon's documentation of the signer."""
    aws_environment(monkeypatch, **changed)
    token, expires_ms = MSKAuthTokenProvider.generate_auth_token(REGION)
    aws_environment(monkeypatch)
    return {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": lambda _: (token, expires_ms / 1000),
        "log_level": 0,
    }


def test_a_gateway_logs_in_itself_and_clients_log_in_through_it(kafka, properties, monkeypatch):
    login = client_login(monkeypatch)
    published, group = "iam-gateway-events", "iam-behind-a-gateway"
    create_topic(kafka.bootstrap_servers, published, 1)
    rules = {"gateway_groups": f"{group}=weighted-sticky", "events_topic": published}
    with gatewaying(properties, **rules) as gateway:
        eventually(gateway.ready, waiting_for=gateway.parts)  # it has read the list of brokers
        producer = Producer({"bootstrap.servers": gateway.bootstrap, **login})
        delivered = []
        producer.produce("t", b"through the gateway", on_delivery=lambda error, _: delivered.append(error))
        assert producer.flush(60) == 0
        assert delivered == [None]
        with members(gateway.bootstrap, group, "t", 2, **login):
            found = lambda: events(kafka.bootstrap_servers, published, group=group)  # noqa: E731
            eventually(lambda: any(each["kind"] == "member" for each in found()), waiting_for=found)
        status, text = http(
            f"http://127.0.0.1:{gateway.role.events_port}/v1/events",
            json_line(member_event(group="posted-to-a-gateway")),
        )
        assert status < 300, text
        eventually(lambda: events(kafka.bootstrap_servers, published, group="posted-to-a-gateway"))


def test_a_java_client_with_amazons_library_logs_in_through_a_gateway(kafka, properties, monkeypatch, tmp_path):
    aws_environment(monkeypatch)
    monkeypatch.setenv("AWS_REGION", REGION)
    amazons = ensure_artifacts(locked_jars("aws-msk-iam")[-1:], cache_directory())
    class_path = compiled_member((*java_runtime().jars, *amazons), tmp_path)
    login = {name.replace(".", "_"): value for name, value in java_properties(properties).items()}
    with gatewaying(properties) as gateway:
        login["bootstrap_servers"] = gateway.bootstrap
        client = java_of(class_path, gateway.bootstrap, "iam-java", "t", "java", **login)
        try:
            eventually(lambda: client.owned == {0, 1}, waiting_for=client.errors)
        finally:
            client.close()


def test_the_broker_refuses_a_wrong_token_through_the_gateway_and_others_still_log_in(properties, monkeypatch):
    wrong, right = client_login(monkeypatch, secret="another-secret"), client_login(monkeypatch)
    with gatewaying(properties) as gateway:
        reported = []
        refused = Producer(
            {"bootstrap.servers": gateway.bootstrap, **wrong, "error_cb": lambda error: reported.append(error.str())}
        )
        eventually(lambda: any("signature" in each for each in reported), between=lambda: refused.poll(0.1))
        producer = Producer({"bootstrap.servers": gateway.bootstrap, **right})
        producer.produce("t", b"after")
        assert producer.flush(60) == 0


def test_a_token_of_another_secret_is_refused_and_the_reason_is_in_readiness(properties, monkeypatch, capfd):
    secret = "another-secret-that-no-output-may-contain"
    aws_environment(monkeypatch, secret=secret)
    with observing(None, kafka=properties, wait=False) as watched:
        eventually(lambda: "uthentication" in watched.parts()["cluster"], waiting_for=watched.parts)
        assert watched.get("/readyz")[0] == 503
    assert secret not in "".join(capfd.readouterr())
