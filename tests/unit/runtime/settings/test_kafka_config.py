from __future__ import annotations

import pytest

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.runtime.settings.kafka_config import (
    OWN_PROPERTIES,
    SECRET_BYTES_MAX,
    client_properties,
    kafka_properties,
)


def test_a_secret_is_read_from_its_file_without_the_line_end(tmp_path):
    secret = tmp_path / "password"
    secret.write_text("hunter 2\n")
    properties = client_properties({"sasl.password.file": str(secret), "client.id": "me"})
    assert properties["sasl.password"] == "hunter 2"
    assert properties["client.id"] == "me"
    assert "sasl.password.file" not in properties


def test_a_secret_that_cannot_be_read_is_named_by_its_property(tmp_path):
    with pytest.raises(InvalidInputError, match=r"^kafka\.sasl\.password\.file: cannot read .*No such file"):
        client_properties({"sasl.password.file": str(tmp_path / "missing")})
    large = tmp_path / "large"
    large.write_bytes(b"x" * (SECRET_BYTES_MAX + 1))
    with pytest.raises(InvalidInputError, match="more than"):
        client_properties({"sasl.password.file": str(large)})
    large.write_bytes(b"\xff")
    with pytest.raises(InvalidInputError, match="not UTF-8"):
        client_properties({"sasl.password.file": str(large)})


@pytest.mark.parametrize("name", ["ssl.ca.location", "ssl.certificate.location", "ssl.key.location"])
def test_a_tls_file_that_cannot_be_used_is_named_by_its_property(tmp_path, name):
    file = tmp_path / "ca.pem"
    given = {"security.protocol": "SSL", name: str(file)}
    with pytest.raises(InvalidInputError, match=rf"^kafka\.{name}: cannot read {file}: No such file or directory$"):
        client_properties(given)
    file.write_text("no certificate")
    with pytest.raises(InvalidInputError, match=rf"^kafka\.{name}: {file} is not a usable PEM file: .*{name} failed"):
        client_properties(given)


def test_a_folder_of_ca_certificates_and_the_systems_are_accepted(tmp_path):
    for place in (str(tmp_path), "probe"):
        assert client_properties({"security.protocol": "SSL", "ssl.ca.location": place})["ssl.ca.location"] == place


@pytest.mark.parametrize("name", sorted(OWN_PROPERTIES))
def test_properties_required_for_correctness_cannot_be_set(name):
    for spelling in (name, name.replace(".", "_"), f"{name}.file"):
        with pytest.raises(ValueError, match=r"is set by the agent itself"):
            kafka_properties({spelling: "x"})


@pytest.mark.parametrize("data", ["text", ["a"], {"a": ["b"]}, {"a": None}, {str(n): "x" for n in range(201)}])
def test_other_input_than_a_mapping_of_scalars_is_refused(data):
    with pytest.raises(ValueError, match="must be"):
        kafka_properties(data)


def test_numbers_and_booleans_become_strings():
    assert kafka_properties({"retries": 3, "enable_ssl": False}) == {"retries": "3", "enable.ssl": "false"}


def test_an_unknown_property_is_reported_with_the_closest_one():
    with pytest.raises(InvalidInputError, match=r'"securty\.protocol"; did you mean security\.protocol\?$'):
        client_properties({"securty.protocol": "SSL"})
    with pytest.raises(InvalidInputError, match=r'No such configuration property: "xyz"$'):
        client_properties({"xyz": "1"})


@pytest.mark.parametrize("servers", ["", "  "])
def test_no_servers_are_no_cluster(servers):
    assert kafka_properties({"bootstrap_servers": servers, "client.id": "me"}) == {"client.id": "me"}
    assert kafka_properties({"bootstrap.servers": "kafka:9092"}) == {"bootstrap.servers": "kafka:9092"}


@pytest.mark.parametrize(("content", "problem"), [(b"", "is empty"), (b"\n", "is empty"), (b"a\0b", "zero byte")])
def test_an_empty_secret_file_is_refused(tmp_path, content, problem):
    secret = tmp_path / "password"
    secret.write_bytes(content)
    with pytest.raises(InvalidInputError, match=problem):
        client_properties({"sasl.password.file": str(secret)})


def test_a_secret_set_twice_is_refused_for_any_sources():
    with pytest.raises(ValueError, match=r"sasl\.password and sasl\.password\.file are both set"):
        kafka_properties({"sasl_password": "x", "sasl.password.file": "y"})


def test_inconsistent_properties_are_refused_before_the_start():
    with pytest.raises(InvalidInputError, match=r"`session.timeout.ms` is not supported for `group.protocol=consumer`"):
        client_properties({"group.protocol": "consumer", "session.timeout.ms": "6000"})
    assert client_properties({"group.protocol": "consumer"})["group.protocol"] == "consumer"


@pytest.mark.parametrize("named", [{}, {"sasl.mechanism": "GSSAPI"}])
def test_an_unsupported_mechanism_is_reported_with_a_remedy(named):
    # The locked confluent-kafka is a wheel, and wheels have no Kerberos.
    kerberos = {"sasl.kerberos.service.name": "kafka", "sasl.kerberos.keytab": "/k", "sasl.kerberos.principal": "a@R"}
    assert client_properties(kerberos) | kerberos == client_properties(kerberos)
    with pytest.raises(InvalidInputError, match=r"built without GSSAPI.*SCRAM-SHA-512.*from source") as refused:
        client_properties({"security.protocol": "SASL_PLAINTEXT", **kerberos, **named})
    assert refused.value.field == "kafka.sasl.mechanism"


@pytest.mark.parametrize(
    ("login", "missing"),
    [
        ({"sasl.username": "me"}, "a password: set sasl.password.file to"),
        ({"sasl.password": "hunter2"}, "sasl.username"),
        ({}, "sasl.username and a password: set sasl.password.file to"),
    ],
)
def test_an_incomplete_login_is_refused_with_the_missing_property(login, missing):
    with pytest.raises(InvalidInputError, match=rf"^kafka: SASL needs {missing}"):
        client_properties({"security.protocol": "SASL_PLAINTEXT", "sasl.mechanism": "PLAIN", **login})


def test_an_empty_client_id_is_passed_to_librdkafka():
    assert client_properties({"client.id": ""})["client.id"] == ""


def test_properties_with_functions_are_refused():
    with pytest.raises(InvalidInputError, match="expected stats_cb property as a callable function"):
        client_properties({"stats_cb": "x"})
