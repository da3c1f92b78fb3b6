from __future__ import annotations

import socket
from pathlib import Path

import pytest

from rebalance_agent.testing.kafka.broker_settings import (
    HOST,
    PORTS,
    BrokerNode,
    free_ports,
    kafka_uuid,
    meta_properties,
    quorum,
    render,
    server_properties,
)


def nodes(count: int) -> list[BrokerNode]:
    return [BrokerNode(i, 20_000 + i, 21_000 + i, Path("/d") / str(i)) for i in range(1, count + 1)]


@pytest.mark.parametrize(("count", "voters"), [(1, [1]), (2, [1]), (3, [1, 2, 3]), (5, [1, 2, 3])])
def test_controllers_are_one_or_three(count, voters):
    assert [node.node_id for node in quorum(nodes(count))] == voters


def test_one_broker_can_hold_every_internal_topic():
    (node,) = nodes(1)
    properties = server_properties(node, [node], {})
    factors = {key: value for key, value in properties.items() if key.endswith(("replication.factor", "min.isr"))}
    assert len(factors) == 6
    assert set(factors.values()) == {"1"}
    assert properties["process.roles"] == "broker,controller"
    assert properties["listeners"] == "PLAINTEXT://127.0.0.1:20001,CONTROLLER://127.0.0.1:21001"


def test_a_broker_outside_the_quorum_has_no_controller_listener():
    four = nodes(4)
    properties = server_properties(four[3], four, {})
    assert properties["process.roles"] == "broker"
    assert properties["listeners"] == "PLAINTEXT://127.0.0.1:20004"
    assert properties["controller.quorum.voters"] == "1@127.0.0.1:21001,2@127.0.0.1:21002,3@127.0.0.1:21003"


def test_the_callers_properties_override_defaults():
    (node,) = nodes(1)
    properties = server_properties(node, [node], {"num.partitions": "7", "my.own": "x"})
    assert (properties["num.partitions"], properties["my.own"]) == ("7", "x")


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [
        ("a.b", "c=d:e", "a.b=c=d:e\n"),
        ("a", "C:\\x", "a=C:\\\\x\n"),
        ("a", "one\ntwo", "a=one\\ntwo\n"),
        ("a", "  two blanks", "a=\\  two blanks\n"),
        ("a b=c", "", "a\\ b\\=c=\n"),
        ("a", "é😀", "a=\\u00e9\\ud83d\\ude00\n"),
    ],
)
def test_properties_are_rendered_in_javas_format(key, value, line):
    assert render({key: value}) == line


def test_free_ports_are_different_and_below_the_ephemeral_ranges():
    ports = free_ports(20)
    assert len(set(ports)) == 20
    assert set(ports) <= set(PORTS)


def test_an_occupied_port_is_not_returned(monkeypatch):
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        monkeypatch.setattr("rebalance_agent.testing.kafka.broker_settings.PORTS", range(port, port + 1))
        with pytest.raises(OSError, match="fewer than 1 ports are free"):
            free_ports(1)


def test_ids_have_kafkas_form():
    for _ in range(200):
        text = kafka_uuid()
        assert len(text) == 22
        assert not text.startswith("-")
    assert set(meta_properties("c", 3)) == {"version", "cluster.id", "node.id", "directory.id"}
