"""All combinations of TLS, mTLS and SASL, and rejected clients: observer, publisher and sidecar with each."""

from __future__ import annotations

import pytest

from rebalance_agent.model.event_json import json_line
from support.kafka.certificates import Authority, needs_openssl
from support.kafka.secured import KINDS, PASSWORD, secured_kafka
from support.observer.observing import beside, create_topic, events, eventually, http, members, observing
from support.observer.views import member_event

pytestmark = [pytest.mark.slow, needs_openssl]


ANOTHER = "another authority"


def another(directory):
    return str(Authority(directory / "another").certificate.chain)


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    with secured_kafka(tmp_path_factory.mktemp("secured")) as secured:
        create_topic(secured.kafka.bootstrap_servers, "t", 2)
        yield secured


@pytest.mark.parametrize("kind", KINDS)
def test_a_generation_is_observed_and_published_with_every_kind_of_security(secured, kind, capfd):
    plain, group, topic = secured.kafka.bootstrap_servers, f"group-{kind}", f"events-{kind}"
    with observing(None, kafka=secured.properties(kind), events_topic=topic, settle_seconds=0.2) as watched:
        with members(plain, group, "t"):
            eventually(lambda: watched.metric("kafka_rebalance_generation", consumergroup=group) == 1)
            eventually(lambda: [each["generation"] for each in events(plain, topic, group=group)] == [1])
        shown = watched.get("/metrics")[1] + watched.get("/readyz")[1]
    out, err = capfd.readouterr()
    assert PASSWORD not in shown + out + err


@pytest.mark.parametrize("kind", KINDS)
def test_a_sidecar_publishes_with_every_kind_of_security(secured, kind):
    topic = f"sidecar-{kind}"
    with beside(None, kafka=secured.properties(kind), events_topic=topic) as sidecar:
        status, text = http(
            f"http://127.0.0.1:{sidecar.role.events_port}/v1/events", json_line(member_event(group="g"))
        )
        assert status < 300, text
        eventually(lambda: events(secured.kafka.bootstrap_servers, topic, group="g"))


@pytest.mark.parametrize(
    ("kind", "wrong", "reported"),
    [
        ("plain", {"sasl.password": "wrong"}, "Authentication failed"),
        ("scram_512_tls", {"sasl.password": "wrong"}, "Authentication failed"),
        ("oidc", {"sasl.oauthbearer.client.secret": "wrong"}, "OAUTHBEARER|401"),
        ("tls", {"ssl.ca.location": ANOTHER}, "certificate verify failed"),
        ("mtls", {"ssl.certificate.location": None, "ssl.key.location": None}, "certificate"),
    ],
)
def test_a_refused_client_logs_the_reason_and_retries(secured, kind, wrong, reported, tmp_path, capfd):
    wrong = {name: another(tmp_path) if value == ANOTHER else value for name, value in wrong.items()}
    replaced = {*wrong, *(f"{name}.file" for name in wrong)}
    properties = {name: value for name, value in secured.properties(kind).items() if name not in replaced}
    properties |= {name: value for name, value in wrong.items() if value is not None}
    with observing(None, kafka=properties, wait=False) as watched:
        reason = lambda: watched.parts()["cluster"]  # noqa: E731
        eventually(lambda: any(each in reason() for each in reported.split("|")), waiting_for=reported)
        assert watched.get("/healthz")[0] == 200
        assert watched.get("/readyz")[0] == 503
        assert PASSWORD not in reason()
    out, err = capfd.readouterr()
    assert PASSWORD not in out + err
