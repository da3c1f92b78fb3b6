from __future__ import annotations

from pathlib import Path

import pytest

from rebalance_agent.testing import BrokerError, EmbeddedKafka, Listener, Tls
from rebalance_agent.testing.kafka.broker_settings import BrokerNode, server_properties
from rebalance_agent.testing.kafka.listeners import LISTENERS_MAX, MECHANISMS

TLS = Tls("certificate", "hush", "authority")


def test_a_broker_has_a_secured_listener_beside_the_plain_one():
    node = BrokerNode(1, 20_001, 21_001, Path("/d"), {"SECURE": 22_001})
    listeners = {"SECURE": Listener.sasl("PLAIN", {"me": "pw"}, TLS)}
    properties = server_properties(node, [node], {"listener.name.secure.max.connections": "9"}, listeners)
    plain, secure = "PLAINTEXT://127.0.0.1:20001", "SECURE://127.0.0.1:22001"
    assert properties["listeners"] == f"{plain},{secure},CONTROLLER://127.0.0.1:21001"
    assert properties["advertised.listeners"] == f"{plain},{secure}"
    protocols = "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,SECURE:SASL_SSL"
    assert properties["listener.security.protocol.map"] == protocols
    assert properties["inter.broker.listener.name"] == "PLAINTEXT"
    own = {key.removeprefix("listener.name.secure."): each for key, each in properties.items() if ".name.secure" in key}
    assert own["sasl.enabled.mechanisms"] == "PLAIN"
    assert 'user_me="pw";' in own["plain.sasl.jaas.config"]
    assert own["ssl.keystore.key"] == "hush"
    assert own["ssl.client.auth"] == "required"
    assert own["max.connections"] == "9"


def test_clients_of_the_plain_listener_have_every_right():
    node = BrokerNode(1, 20_001, 21_001, Path("/d"))
    assert "authorizer.class.name" not in server_properties(node, [node], {})
    properties = server_properties(node, [node], {}, authorizer=True)
    assert properties["authorizer.class.name"].endswith("StandardAuthorizer")
    assert properties["super.users"] == "User:ANONYMOUS"


def test_only_scram_stores_its_users_in_the_cluster():
    stored = {mechanism: Listener.sasl(mechanism, {"me": "pw"}).scram for mechanism in MECHANISMS}
    assert stored == {
        "PLAIN": None,
        "SCRAM-SHA-256": ("SCRAM-SHA-256", {"me": "pw"}),
        "SCRAM-SHA-512": ("SCRAM-SHA-512", {"me": "pw"}),
        "OAUTHBEARER": None,
    }


def test_no_key_and_no_password_is_shown():
    assert "hush" not in repr(TLS)
    assert "pw" not in repr(Listener.sasl("SCRAM-SHA-512", {"me": "pw"}, TLS))


@pytest.mark.parametrize("users", [{"a": 'p"w'}, {"a": "p w"}, {"": "p"}, {"a": ""}, {"a": "p\\"}, {"é": "p"}])
def test_text_that_a_jaas_configuration_cannot_contain_is_refused(users):
    with pytest.raises(BrokerError, match="printable ASCII"):
        Listener.sasl("PLAIN", users)


def test_unknown_mechanisms_and_names_of_listeners_are_refused():
    with pytest.raises(BrokerError, match="no SASL mechanism 'GSSAPI', only PLAIN"):
        Listener.sasl("GSSAPI")
    for name in ("PLAINTEXT", "CONTROLLER", "secure", "A-B", ""):
        with pytest.raises(BrokerError, match="a word in capitals"):
            EmbeddedKafka(listeners={name: Listener("PLAINTEXT")})
    with pytest.raises(BrokerError, match=f"at most {LISTENERS_MAX}"):
        EmbeddedKafka(listeners={f"L{number}": Listener("PLAINTEXT") for number in range(LISTENERS_MAX + 1)})


def test_addresses_are_known_once_it_runs():
    with pytest.raises(BrokerError, match="not started"):
        EmbeddedKafka(listeners={"OTHER": Listener("PLAINTEXT")}).address("OTHER")
