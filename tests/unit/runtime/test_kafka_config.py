from __future__ import annotations

import pytest

from rebalance_agent.errors import InvalidInputError
from rebalance_agent.runtime.kafka_config import OWN_PROPERTIES, SECRET_BYTES_MAX, client_properties, kafka_properties


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


@pytest.mark.parametrize("name", sorted(OWN_PROPERTIES))
def test_what_our_correctness_rests_on_cannot_be_set(name):
    for spelling in (name, name.replace(".", "_"), f"{name}.file"):
        with pytest.raises(ValueError, match=r"is set by the agent itself"):
            kafka_properties({spelling: "x"})


@pytest.mark.parametrize("data", ["text", ["a"], {"a": ["b"]}, {"a": None}, {str(n): "x" for n in range(201)}])
def test_what_is_no_mapping_of_single_values_is_refused(data):
    with pytest.raises(ValueError, match="must be"):
        kafka_properties(data)


def test_numbers_and_booleans_become_texts():
    assert kafka_properties({"retries": 3, "enable_ssl": False}) == {"retries": "3", "enable.ssl": "false"}


@pytest.mark.parametrize("servers", ["", "  "])
def test_no_servers_are_no_cluster(servers):
    assert kafka_properties({"bootstrap_servers": servers, "client.id": "me"}) == {"client.id": "me"}
    assert kafka_properties({"bootstrap.servers": "kafka:9092"}) == {"bootstrap.servers": "kafka:9092"}
