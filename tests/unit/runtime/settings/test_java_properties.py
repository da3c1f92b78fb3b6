"""Java's client.properties in librdkafka's names: connection and login, or an error without a secret."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.runtime.settings.java_properties import librdkafka_properties, parsed_properties
from rebalance_agent.runtime.settings.kafka_config import client_properties
from rebalance_agent.runtime.settings.roles import ObserverSettings
from rebalance_agent.runtime.settings.settings_sources import load

KERBEROS = "com.sun.security.auth.module.Krb5LoginModule"
IAM = "software.amazon.msk.auth.iam.IAMLoginModule"
MSK_HANDLER = "software.amazon.msk.auth.iam.IAMOAuthBearerLoginCallbackHandler"
GCP_HANDLER = "com.google.cloud.hosted.kafka.auth.GcpLoginCallbackHandler"
SCRAM = "org.apache.kafka.common.security.scram.ScramLoginModule"
OAUTH = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"


@pytest.mark.parametrize(
    ("text", "properties"),
    [
        ("a=b", {"a": "b"}),
        ("  a : b c  ", {"a": "b c  "}),
        ("a b\r\nc\td", {"a": "b", "c": "d"}),
        ("# a=b\n ! c=d\n\n", {}),
        ("a=b,\\\n   c", {"a": "b,c"}),
        ("a=b\\\\\nc=d", {"a": "b\\", "c": "d"}),
        ("a\\=b\\:c = \\u00e9\\t\\q", {"a=b:c": "é\tq"}),
        ("a=\nb", {"a": "", "b": ""}),
        ("a=1\na=2", {"a": "2"}),
        ("a=b=c", {"a": "b=c"}),
        ("a=b\\", {"a": "b"}),
    ],
)
def test_the_format_is_parsed_like_java(text, properties):
    assert parsed_properties(text) == properties


@given(st.dictionaries(st.text("ab=:# \\\t\né", min_size=1), st.text("ab=:# \\\t\né")))
def test_escaped_text_is_unescaped(properties):
    def escaped(text):
        return "".join(f"\\u{ord(letter):04x}" for letter in text)

    text = "\n".join(f"{escaped(name)}={escaped(value)}" for name, value in properties.items())
    assert parsed_properties(text) == properties


@given(st.text("a=:#! \\\t\r\nu0é"))
def test_any_text_is_read(text):
    parsed_properties(text)


@pytest.mark.parametrize(
    ("java", "properties"),
    [
        (
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.jaas.config": f'{SCRAM} required username="alice" password="a\\"b=c; d";',
                "key.deserializer": "org.apache.kafka.common.serialization.StringDeserializer",
                "group.id": "orders",
            },
            {
                "security.protocol": "SASL_SSL",
                "sasl.mechanism": "SCRAM-SHA-512",
                "sasl.username": "alice",
                "sasl.password": 'a"b=c; d',
            },
        ),
        (
            {"sasl.jaas.config": f"{OAUTH} required clientId='a' clientSecret='b' scope=\"c d\" ;"},
            {
                "sasl.oauthbearer.method": "oidc",
                "sasl.oauthbearer.client.id": "a",
                "sasl.oauthbearer.client.secret": "b",
                "sasl.oauthbearer.scope": "c d",
            },
        ),
        (
            {
                "sasl.mechanism": "AWS_MSK_IAM",
                "sasl.jaas.config": f'{IAM} required awsRoleArn="arn:aws:iam::1:role/r";',
            },
            {
                "sasl.mechanism": "OAUTHBEARER",
                "sasl.oauthbearer.method": "aws-msk-iam",
                "sasl.oauthbearer.config": "role_arn=arn:aws:iam::1:role/r",
            },
        ),
        (
            {"sasl.jaas.config": f"{OAUTH} required;", "sasl.login.callback.handler.class": MSK_HANDLER},
            {"sasl.oauthbearer.method": "aws-msk-iam"},
        ),
        (
            {"sasl.jaas.config": f"{OAUTH} required;", "sasl.login.callback.handler.class": GCP_HANDLER},
            {"sasl.oauthbearer.method": "gcp"},
        ),
        (
            {"ssl.truststore.type": "PEM", "ssl.truststore.location": "/ca.pem"},
            {"ssl.ca.location": "/ca.pem"},
        ),
        ({"ssl.truststore.certificates": "-----BEGIN"}, {"ssl.ca.pem": "-----BEGIN"}),
        (
            {"ssl.keystore.type": "PEM", "ssl.keystore.location": "/me.pem", "ssl.key.password": "x"},
            {"ssl.key.location": "/me.pem", "ssl.certificate.location": "/me.pem", "ssl.key.password": "x"},
        ),
        (
            {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": "/me.p12", "ssl.keystore.password": "x"},
            {"ssl.keystore.location": "/me.p12", "ssl.keystore.password": "x"},
        ),
        ({"ssl.endpoint.identification.algorithm": ""}, {"ssl.endpoint.identification.algorithm": "none"}),
        ({"request.timeout.ms": "20000"}, {"socket.timeout.ms": "20000"}),
    ],
)
def test_connection_and_login_have_librdkafkas_names(java, properties):
    assert librdkafka_properties(java) == properties


@pytest.mark.parametrize(
    ("java", "problem"),
    [
        ({"ssl.truststore.location": "/trust.jks"}, "keytool -list -rfc -keystore /trust.jks"),
        ({"ssl.keystore.location": "/me.jks", "ssl.keystore.password": "hidden"}, "deststoretype PKCS12"),
        ({"sasl.jaas.config": "hidden"}, "sasl.jaas.config must look like"),
        (
            {"sasl.jaas.config": f'{KERBEROS} required keyTab="hidden";'},
            "Krb5LoginModule",
        ),
        ({"sasl.jaas.config": f"{OAUTH} required;"}, "OAuthBearerLoginModule is not supported"),
        ({"ssl.key.password": "${file:/hidden:x}"}, "ssl.key.password: the agent does not support config providers"),
    ],
)
def test_untranslatable_properties_are_errors_with_a_remedy(java, problem):
    with pytest.raises(InvalidInputError, match="kafka_config") as raised:
        librdkafka_properties(java)
    assert problem in str(raised.value)
    assert "hidden" not in str(raised.value)


def test_certificates_from_other_settings_replace_a_truststore():
    assert librdkafka_properties({"ssl.truststore.location": "/t.jks"}, frozenset({"ssl.ca.location"})) == {}


def test_flags_override_the_file_and_librdkafka_takes_the_result(tmp_path):
    file = tmp_path / "client.properties"
    file.write_text(
        "bootstrap.servers = a:1,b:2\nsecurity.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nclient.id=of the file\n"
        f'sasl.jaas.config={SCRAM.replace("scram.Scram", "plain.Plain")} required \\\n  username="u" password="p";\n'
    )
    (tmp_path / "password").write_text("other")
    flags = {"kafka": {"client.id": "mine", "sasl.password.file": str(tmp_path / "password")}}
    settings = load(ObserverSettings, None, {"kafka_config": str(file), **flags})
    assert client_properties(settings.kafka) == {
        "bootstrap.servers": "a:1,b:2",
        "client.id": "mine",
        "log_level": "0",
        "sasl.mechanism": "PLAIN",
        "sasl.password": "other",
        "sasl.username": "u",
        "security.protocol": "SASL_PLAINTEXT",
    }
    assert "other" not in repr(settings)


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (None, "cannot read"),
        (b"a=\xff", "is not UTF-8 text"),
        (b"#" * (1 << 20) + b"\n\n", "has more than 1048576 bytes"),
    ],
)
def test_an_unusable_properties_file_is_named(tmp_path, content, problem):
    file = tmp_path / "client.properties"
    if content is not None:
        file.write_bytes(content)
    with pytest.raises(InvalidInputError, match=f"kafka_config: .*{problem}"):
        load(ObserverSettings, None, {"kafka_config": str(file)})


def test_a_wrong_kafka_property_besides_the_file_is_named(tmp_path):
    (tmp_path / "settings.yaml").write_text(f"kafka: 5\nkafka_config: {tmp_path / 'client.properties'}\n")
    with pytest.raises(InvalidInputError, match="kafka: must be a mapping"):
        load(ObserverSettings, str(tmp_path / "settings.yaml"), {})
