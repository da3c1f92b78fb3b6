"""The simulated network treats connections as real networks do."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from rebalance_agent.testing.kafka.broker_settings import free_ports
from support.kafka.network import Network

SHORT_S = 0.3
ENDED = (ConnectionError, AssertionError)
"""An exception, or the end of the stream."""


@pytest.fixture
def way():
    """A network in front of an echo server, and a function to connect."""
    front, behind = free_ports(2)
    server = socket.create_server(("127.0.0.1", behind))

    def serve():
        while True:
            try:
                there, _ = server.accept()
            except OSError:
                return
            threading.Thread(target=echo, args=(there,), daemon=True).start()

    def echo(there):
        with there:
            try:
                while data := there.recv(1024):
                    there.sendall(data)
            except OSError:
                return

    threading.Thread(target=serve, daemon=True).start()
    with server, Network([(front, behind)]) as network:
        yield network, lambda: socket.create_connection(("127.0.0.1", front), timeout=10)


def answer(client, data=b"hello"):
    client.sendall(data)
    return client.recv(len(data))


def test_the_network_forwards_bytes(way):
    _, connect = way
    with connect() as one, connect() as other:
        assert (answer(one), answer(other, b"there")) == (b"hello", b"there")


def test_a_cut_network_resets_connections_and_refuses_new_ones_until_restored(way):
    network, connect = way
    with connect() as client:
        answer(client)
        network.cut()
        with pytest.raises(ENDED):
            assert answer(client) == b"hello"
    with connect() as client, pytest.raises(ENDED):
        assert answer(client) == b"hello"
    network.heal()
    with connect() as client:
        assert answer(client) == b"hello"


def test_after_a_reset_new_connections_are_accepted(way):
    network, connect = way
    with connect() as client:
        answer(client)
        network.reset()
        with pytest.raises(ENDED):
            assert answer(client) == b"hello"
    with connect() as client:
        assert answer(client) == b"hello"


def test_a_frozen_network_neither_delivers_nor_loses_bytes(way):
    network, connect = way
    with connect() as client:
        answer(client)
        network.freeze()
        client.settimeout(SHORT_S)
        with pytest.raises(TimeoutError):
            answer(client)
        network.heal()
        client.settimeout(10)
        assert client.recv(5) == b"hello"


@pytest.mark.parametrize("setting", [{"delay_s": SHORT_S}, {"loss": 1.0}])
def test_a_slow_or_lossy_network_takes_longer(way, setting):
    network, connect = way
    with connect() as client:
        answer(client)
        for name, value in setting.items():
            setattr(network, name, value)
        began = time.perf_counter()
        assert answer(client) == b"hello"
        assert time.perf_counter() - began >= SHORT_S
