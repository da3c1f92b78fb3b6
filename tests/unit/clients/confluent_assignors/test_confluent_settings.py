"""One confluent-kafka configuration, divided between the member and the data consumer."""

from __future__ import annotations

import re
import ssl
from pathlib import Path

import pytest

from rebalance_agent.clients.confluent_assignors.config import client_settings as settings
from rebalance_agent.clients.confluent_assignors.config import security
from rebalance_agent.clients.confluent_assignors.config.client_settings import ClientSettings
from rebalance_agent.clients.confluent_assignors.config.oauth import Tokens
from rebalance_agent.clock import FakeClock
from rebalance_agent.errors import AssignmentError, InvalidInputError

BASE = {"bootstrap.servers": "one:9092,two:9092", "group.id": "g"}
PLAIN = {"sasl.mechanism": "PLAIN", "sasl.username": "u", "sasl.password": "p"}


def of(config, assignor_config=None):
    return ClientSettings.of(config, assignor_config or {}, FakeClock())


def test_defaults_are_librdkafkas():
    plain = of(BASE)
    expected = {
        "bootstrap_servers": ["one:9092", "two:9092"],
        "group_id": "g",
        "group_instance_id": None,
        "client_id": "rdkafka",
        "session_timeout_ms": 45_000,
        "heartbeat_interval_ms": 3_000,
        "max_poll_interval_ms": 300_000,
        "partition_assignment_strategy": ["range", "roundrobin"],
        "allow_auto_create_topics": False,
        "security_protocol": "PLAINTEXT",
        "enable_auto_commit": False,
    }
    assert {name: plain.member[name] for name in expected} == expected
    assert (plain.auto_commit_seconds, plain.auto_store, plain.cooperative) == (5.0, True, False)


def test_the_data_consumer_gets_all_settings_except_those_of_the_membership():
    config = BASE | {
        "group.instance.id": "i",
        "session.timeout.ms": 6_000,
        "heartbeat.interval.ms": "500",
        "max.poll.interval.ms": 6_000,
        "partition.assignment.strategy": "weighted-sticky",
        "enable.auto.commit": True,
        "on_commit": print,
        "fetch.min.bytes": 10,
        "stats_cb": print,
        "queued.max.messages.kbytes": 1024,
        "statistics.interval.ms": 1000,
    }
    assert of(config).data == BASE | {
        "enable.auto.commit": False,
        "enable.auto.offset.store": False,
        "max.poll.interval.ms": 86_400_000,
        "fetch.min.bytes": 10,
        "stats_cb": print,
        "queued.max.messages.kbytes": 1024,
        "statistics.interval.ms": 1000,
    }


def test_the_member_gets_the_settings_of_the_membership():
    member = of(
        BASE
        | {
            "group.instance.id": "i",
            "client.rack": "r",
            "client.id": "c",
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "500",
            "max.poll.interval.ms": "7000",
            "topic.metadata.refresh.interval.ms": 1000,
            "partition.assignment.strategy": "weighted-sticky, failover",
        },
        {"assignment.consumer.weight": 3},
    ).member
    expected = {
        "group_instance_id": "i",
        "client_rack": "r",
        "client_id": "c",
        "session_timeout_ms": 6_000,
        "heartbeat_interval_ms": 500,
        "max_poll_interval_ms": 7_000,
        "metadata_max_age_ms": 1_000,
        "partition_assignment_strategy": ["weighted-sticky", "failover"],
        "assignor_config": {"assignment.consumer.weight": 3},
    }
    assert {name: member[name] for name in expected} == expected


@pytest.mark.parametrize(
    ("strategies", "cooperative"),
    [("weighted-sticky", False), ("cooperative-failover", True), ("cooperative-failover,range", False)],
)
def test_the_protocol_is_cooperative_if_all_strategies_are(strategies, cooperative):
    assert of(BASE | {"partition.assignment.strategy": strategies}).cooperative is cooperative


@pytest.mark.parametrize(
    ("extra", "field"),
    [
        ({"group.id": ""}, "group.id"),
        ({"bootstrap.servers": " , "}, "bootstrap.servers"),
        ({"group.protocol": "consumer"}, "group.protocol"),
        ({"group.remote.assignor": "uniform"}, "group.remote.assignor"),
        ({"topic.blacklist": "^a"}, "topic.blacklist"),
        ({"session.timeout.ms": "soon"}, "session.timeout.ms"),
        ({"session.timeout.ms": 10**12}, "session.timeout.ms"),
        ({"heartbeat.interval.ms": 45_000}, "heartbeat.interval.ms"),
        ({"max.poll.interval.ms": 44_999}, "max.poll.interval.ms"),
        ({"enable.auto.commit": "perhaps"}, "enable.auto.commit"),
        ({"client.id": ["a"]}, "client.id"),
        ({"security.protocol": "tls"}, "security.protocol"),
        ({"security.protocol": "sasl_ssl", "sasl.mechanism": "NTLM"}, "sasl.mechanism"),
        ({"security.protocol": "sasl_plaintext", "sasl.mechanism": "PLAIN", "sasl.username": "u"}, "sasl.password"),
        ({"security.protocol": "sasl_plaintext", "sasl.mechanism": "OAUTHBEARER"}, "oauth_cb"),
        (
            {"security.protocol": "sasl_ssl", "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": "oidc"},
            "sasl.oauthbearer.method",
        ),
        ({"ssl.something.new": 1}, "ssl.something.new"),
        ({"ssl.ca.location": "/not/there", "security.protocol": "ssl"}, "ssl.ca.location"),
        ({"ssl.ca.pem": "nonsense", "security.protocol": "ssl"}, "ssl.ca.pem"),
        ({"ssl.key.location": "/k", "security.protocol": "ssl"}, "ssl.certificate.location"),
        ({"ssl.certificate.location": "/not/there", "security.protocol": "ssl"}, "ssl.certificate.location"),
        ({"ssl.cipher.suites": "nonsense", "security.protocol": "ssl"}, "ssl.cipher.suites"),
        ({"ssl.crl.location": "/not/there", "security.protocol": "ssl"}, "ssl.crl.location"),
        (
            {"ssl.endpoint.identification.algorithm": "ldap", "security.protocol": "ssl"},
            "ssl.endpoint.identification.algorithm",
        ),
        *(({name: "x"}, name) for name in security.REFUSED),
        *(({name: "x"}, name) for name in settings.REFUSED),
    ],
)
def test_unusable_settings_are_refused_by_name(extra, field):
    with pytest.raises(InvalidInputError) as raised:
        of(BASE | extra)
    assert raised.value.field == field
    assert str(raised.value).startswith(f"{field}: ")
    assert "\n" not in str(raised.value)


def test_a_refusal_never_shows_a_secret():
    for name in ("ssl.key.pem", "sasl.password", "ssl.keystore.password"):
        with pytest.raises(InvalidInputError) as raised:
            of(BASE | {"security.protocol": "sasl_plaintext", "sasl.mechanism": "SCRAM-SHA-256", name: "hunter2"})
        assert "hunter2" not in str(raised.value)


@pytest.mark.parametrize("names", ["no-such-strategy", "weighted-sticky,nothing"])
def test_an_unknown_strategy_is_refused_in_the_configuration(names):
    with pytest.raises(AssignmentError, match="there is no strategy"):
        of(BASE | {"partition.assignment.strategy": names})


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
@pytest.mark.parametrize("key", ["sasl.mechanism", "sasl.mechanisms"])
def test_sasl_with_a_password_is_translated(mechanism, key):
    config = BASE | {"security.protocol": "sasl_plaintext", key: mechanism, "sasl.username": "u", "sasl.password": "p"}
    member = of(config).member
    expected = {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_plain_username": "u",
        "sasl_plain_password": "p",
    }
    assert {name: member[name] for name in expected} == expected
    assert of(config).data["sasl.password"] == "p"


def test_gssapi_uses_the_tickets_of_the_process():
    member = of(BASE | {"security.protocol": "sasl_plaintext", "sasl.kerberos.service.name": "broker"}).member
    assert (member["sasl_mechanism"], member["sasl_kerberos_service_name"]) == ("GSSAPI", "broker")


def test_tls_verifies_the_broker_and_its_name_by_default():
    context = of(BASE | {"security.protocol": "ssl"}).member["ssl_context"]
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, True)
    assert context.cert_store_stats()["x509_ca"] == ssl.create_default_context().cert_store_stats()["x509_ca"]


def test_tls_without_name_verification_still_verifies_the_certificate():
    config = BASE | {"security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "none"}
    context = of(config).member["ssl_context"]
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_REQUIRED, False)


def test_tls_without_verification_accepts_any_certificate():
    config = BASE | {"security.protocol": "sasl_ssl", "enable.ssl.certificate.verification": "false"} | PLAIN
    context = of(config).member["ssl_context"]
    assert (context.verify_mode, context.check_hostname) == (ssl.CERT_NONE, False)


def test_a_directory_of_authorities_is_used_without_reading_all_files(tmp_path):
    config = BASE | {"security.protocol": "ssl", "ssl.ca.location": str(tmp_path)}
    assert of(config).member["ssl_context"].cert_store_stats()["x509_ca"] == 0


def test_tokens_of_oauth_cb_are_cached_until_shortly_before_their_expiry():
    clock = FakeClock(1_000_000)
    asked = []

    def oauth_cb(config):
        asked.append(config)
        return f"token-{len(asked)}", 1_000 + 60 * len(asked), "principal", {"key": "value"}

    tokens = Tokens(oauth_cb, "scope=x", clock)
    assert tokens.extensions() == {}
    assert [tokens.token(), tokens.token()] == ["token-1", "token-1"]
    clock.advance(49_000)
    assert tokens.token() == "token-1"
    clock.advance(1_000)
    assert tokens.token() == "token-2"
    assert asked == ["scope=x", "scope=x"]
    assert tokens.extensions() == {"key": "value"}


def test_oauth_cb_serves_both_connections():
    config = BASE | {
        "security.protocol": "sasl_plaintext",
        "sasl.mechanism": "OAUTHBEARER",
        "oauth_cb": lambda _: ("t", 9e9),
    }
    divided = of(config)
    assert divided.member["sasl_oauth_token_provider"].token() == "t"
    assert divided.data["oauth_cb"] is config["oauth_cb"]


def test_the_page_lists_every_translated_implemented_or_refused_setting():
    page = (Path(__file__).parents[4] / "docs" / "confluent-kafka.md").read_text()
    listed = dict(re.findall(r"^\| `([a-z_.]+)` \| (.*) \|$", page, re.MULTILINE))
    tables = (settings.MEMBERSHIP, settings.OURS, settings.REFUSED, security.TLS, security.SASL, security.REFUSED)
    for table in tables:
        assert {name: listed.get(name) for name in table} == dict(table)
