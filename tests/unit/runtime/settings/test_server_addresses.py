from __future__ import annotations

import pytest

from rebalance_agent.cli import main
from rebalance_agent.errors import InvalidInputError
from rebalance_agent.runtime.settings.kafka_config import client_properties
from rebalance_agent.runtime.settings.text_types import server_addresses

WRONG = {
    "localhost:99999": "the port must be 1 to 65535, such as localhost:9092",
    "kafka:0": "the port must be 1 to 65535, such as kafka:9092",
    "kafka:x": "must be host:port, such as 127.0.0.1:9092 or [::1]:9092",
    "kafka:9092/": "must be host:port",
    "http://localhost:9092": "remove http://",
    "SSL://kafka:9093": "remove SSL://, or set security.protocol to SSL",
    "a:9092 b:9092": "must begin with an address or a host name",
    "::1": "an IPv6 address must have brackets",
}


def test_servers_are_read_as_librdkafka_reads_them():
    text = "a, ssl://b:1 ,[::1]:9,[::2],a:9092,"
    found = (("a", 9092), ("b", 1), ("::1", 9), ("::2", 9092))
    assert server_addresses({"bootstrap.servers": text, "security.protocol": "ssl"}) == found
    assert server_addresses({}) == ()


def test_every_client_gets_servers_with_ports_and_without_blanks():
    properties = client_properties({"bootstrap.servers": "a, PLAINTEXT://b:1 ,[::1]"})
    assert properties["bootstrap.servers"] == "a:9092,b:1,[::1]:9092"


@pytest.mark.parametrize(("server", "problem"), WRONG.items())
def test_a_wrong_server_beside_a_correct_one_is_refused(server, problem):
    with pytest.raises(InvalidInputError) as refused:
        client_properties({"bootstrap.servers": f"kafka:9092,{server}"})
    assert str(refused.value).startswith(f"kafka.bootstrap.servers: {server}: {problem}")


def test_a_list_without_a_server_is_refused_and_a_password_is_not_shown():
    with pytest.raises(InvalidInputError, match=r"^kafka\.bootstrap\.servers: contains no server$"):
        client_properties({"bootstrap.servers": " , "})
    with pytest.raises(InvalidInputError, match=r"^kafka\.bootstrap\.servers: kafka:9092: remove http://$"):
        client_properties({"bootstrap.servers": "http://me:secret@kafka:9092"})


@pytest.mark.parametrize(
    "command", ["observe", "sidecar", "gateway", "check", "decode --group g", "explain g", "migrate g", "watch --once"]
)
@pytest.mark.parametrize("source", ["flag", "variable", "file", "client.properties"])
def test_every_command_and_source_refuses_a_wrong_server(capsys, monkeypatch, tmp_path, command, source):
    wrong = "localhost:99999"
    arguments = ["--kafka", "client.id=me"]
    if source == "flag":
        arguments = ["--bootstrap-servers", wrong]
    elif source == "variable":
        monkeypatch.setenv("REBALANCE_AGENT_KAFKA__BOOTSTRAP_SERVERS", wrong)
    elif source == "file":
        (tmp_path / "a.yaml").write_text(f"kafka: {{bootstrap.servers: '{wrong}'}}\n")
        arguments = ["--config", str(tmp_path / "a.yaml")]
    else:
        (tmp_path / "client.properties").write_text(f"bootstrap.servers={wrong}\n")
        arguments = ["--kafka-config", str(tmp_path / "client.properties")]
    assert main.main([*command.split(), *arguments]) == 2
    problem = "kafka.bootstrap.servers: localhost:99999: the port must be 1 to 65535, such as localhost:9092"
    assert f"rebalance-agent {command.split()[0]}: {problem}\n" in capsys.readouterr().err
