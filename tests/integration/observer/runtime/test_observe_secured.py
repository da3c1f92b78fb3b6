"""The observer and its publisher with TLS, mTLS and SASL: each shows and publishes a group's generation."""

from __future__ import annotations

import pytest

from support.kafka.certificates import needs_openssl
from support.kafka.secured import PASSWORD, secured_kafka
from support.observer.observing import create_topic, events, eventually, members, observing

pytestmark = [pytest.mark.integration, needs_openssl]

ONE_OF_EACH = ("mtls", "plain", "scram_512_tls", "oidc_tls")
"""The other combinations are in tests/slow."""


@pytest.fixture(scope="module")
def secured(tmp_path_factory):
    with secured_kafka(tmp_path_factory.mktemp("secured"), ONE_OF_EACH) as secured:
        create_topic(secured.kafka.bootstrap_servers, "t", 2)
        yield secured


@pytest.mark.parametrize("kind", ONE_OF_EACH)
def test_a_generation_is_observed_and_published_with_each_kind_of_security(secured, kind, capfd):
    kafka = secured.properties(kind)
    plain = secured.kafka.bootstrap_servers
    with observing(None, kafka=kafka, events_topic=f"events-{kind}", settle_seconds=0.2) as watched:
        with members(plain, f"group-{kind}", "t"):
            eventually(lambda: watched.metric("kafka_rebalance_generation", consumergroup=f"group-{kind}") == 1)
            eventually(
                lambda: [each["generation"] for each in events(plain, f"events-{kind}", group=f"group-{kind}")] == [1]
            )
        shown = watched.get("/metrics")[1] + watched.get("/readyz")[1]
    out, err = capfd.readouterr()
    assert PASSWORD not in shown + out + err
