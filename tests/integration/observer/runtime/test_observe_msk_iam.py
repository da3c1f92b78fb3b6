"""An observer and a sidecar log in with IAM tokens, as on Amazon MSK."""

from __future__ import annotations

import pytest

from rebalance_agent.cluster.tokens import token_login
from rebalance_agent.model.event_json import json_line
from support.aws.msk_iam import LOGIN, aws_environment, msk_kafka
from support.observer.observing import beside, create_topic, events, eventually, http, members, observing
from support.observer.views import member_event

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


def test_a_token_of_another_secret_is_refused_and_the_reason_is_in_readiness(properties, monkeypatch, capfd):
    secret = "another-secret-that-no-output-may-contain"
    aws_environment(monkeypatch, secret=secret)
    with observing(None, kafka=properties, wait=False) as watched:
        eventually(lambda: "uthentication" in watched.parts()["cluster"], waiting_for=watched.parts)
        assert watched.get("/readyz")[0] == 503
    assert secret not in "".join(capfd.readouterr())
