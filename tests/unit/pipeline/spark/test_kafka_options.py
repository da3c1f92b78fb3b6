"""A connection in librdkafka's settings becomes the same one in Java, or is rejected by name."""

from __future__ import annotations

import pytest

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.pipeline.spark.kafka_options import java_properties, source_options

SERVERS = {"bootstrap.servers": "b:9092"}
KEY = "-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----\n"


def test_plaintext_is_translated_and_tuning_is_omitted():
    given = SERVERS | {"client.id": "x", "log_level": "0", "queued.min.messages": "7", "client.rack": "a"}
    assert java_properties(given) == SERVERS | {"client.rack": "a"}
    assert source_options(SERVERS) == {"kafka.bootstrap.servers": "b:9092"}


@pytest.mark.parametrize(
    ("mechanism", "module"),
    [("PLAIN", "plain.PlainLoginModule"), ("SCRAM-SHA-512", "scram.ScramLoginModule")],
)
def test_a_password_login_is_one_escaped_line_of_jaas(mechanism, module):
    given = SERVERS | {
        "security.protocol": "sasl_ssl", "sasl.mechanism": mechanism, "sasl.username": "me", "sasl.password": 'a"; \\b',
    }  # fmt: skip
    found = java_properties(given)
    assert found["security.protocol"] == "SASL_SSL"
    assert found["sasl.mechanism"] == mechanism
    assert found["sasl.jaas.config"] == (
        f'org.apache.kafka.common.security.{module} required username="me" password="a\\"; \\\\b";'
    )


def test_tokens_are_requested_from_the_configured_address():
    given = SERVERS | {
        "security.protocol": "SASL_SSL", "sasl.mechanisms": "OAUTHBEARER", "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.client.id": "c", "sasl.oauthbearer.client.secret": "s", "sasl.oauthbearer.scope": "r",
        "sasl.oauthbearer.token.endpoint.url": "https://token",
    }  # fmt: skip
    found = java_properties(given)
    assert found["sasl.oauthbearer.token.endpoint.url"] == "https://token"
    assert 'clientId="c" clientSecret="s" scope="r";' in found["sasl.jaas.config"]


@pytest.mark.parametrize(
    ("method", "handler"),
    [
        ("aws-msk-iam", "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler"),
        ("gcp", "com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler"),
    ],
)
def test_the_platforms_java_library_makes_the_tokens(method, handler):
    login = {"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER", "sasl.oauthbearer.method": method}
    assert java_properties(SERVERS | login) == SERVERS | {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "OAUTHBEARER",
        "sasl.jaas.config": "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule required;",
        "sasl.login.callback.handler.class": handler,
    }


def test_certificates_are_passed_as_text(tmp_path):
    for name, text in (("ca", "CA"), ("cert", "CERT"), ("key", KEY)):
        (tmp_path / name).write_text(text)
    given = SERVERS | {
        "security.protocol": "SSL", "ssl.ca.location": str(tmp_path / "ca"),
        "ssl.certificate.location": str(tmp_path / "cert"), "ssl.key.location": str(tmp_path / "key"),
        "ssl.key.password": "p", "ssl.endpoint.identification.algorithm": "none",
    }  # fmt: skip
    assert java_properties(given) == SERVERS | {
        "security.protocol": "SSL", "ssl.endpoint.identification.algorithm": "",
        "ssl.truststore.type": "PEM", "ssl.truststore.certificates": "CA",
        "ssl.keystore.type": "PEM", "ssl.keystore.certificate.chain": "CERT", "ssl.keystore.key": KEY,
        "ssl.key.password": "p",
    }  # fmt: skip


@pytest.mark.parametrize(
    ("more", "field"),
    [
        ({"bootstrap.servers": ""}, "kafka.bootstrap.servers"),
        ({"ssl.crl.location": "x"}, "kafka.ssl.crl.location"),
        ({"enable.ssl.certificate.verification": "false"}, "kafka.enable.ssl.certificate.verification"),
        ({"security.protocol": "SASL_SSL"}, "kafka.sasl.mechanism"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "PLAIN"}, "kafka.sasl.username"),
        ({"security.protocol": "SASL_SSL", "sasl.mechanism": "OAUTHBEARER"}, "kafka.sasl.oauthbearer.method"),
        (
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.config": "role_arn=r",
            },
            "kafka.sasl.oauthbearer.config",
        ),
        ({"ssl.certificate.pem": "x"}, "kafka.ssl.key.location"),
        ({"ssl.certificate.pem": "x", "ssl.key.pem": "-----BEGIN RSA PRIVATE KEY-----"}, "kafka.ssl.key"),
        ({"ssl.ca.location": "/nowhere/ca.pem"}, "kafka.ssl.ca.location"),
    ],
)
def test_settings_without_a_java_equivalent_are_refused_by_name_without_secrets(more, field):
    with pytest.raises(InvalidInputError) as refused:
        java_properties(SERVERS | more)
    assert refused.value.field == field
