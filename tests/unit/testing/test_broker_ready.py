from __future__ import annotations

import socket
import struct
import threading
from contextlib import contextmanager

import pytest

from rebalance_agent.testing.kafka import broker_ready as wire


@contextmanager
def answering(body: bytes, *, size: int | None = None):
    """A listener that responds with ``body`` to one connection; yields its port and the list of requests."""
    requests = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve():
            connection, _ = server.accept()
            with connection:
                requests.append(connection.recv(1024))
                connection.sendall(struct.pack(">ii", len(body) + 4 if size is None else size, 1) + body)

        thread = threading.Thread(target=serve)
        thread.start()
        yield server.getsockname()[1], requests
        thread.join()


def node(node_id: int, rack: bytes | None = None) -> bytes:
    end = struct.pack(">h", -1) if rack is None else struct.pack(">h", len(rack)) + rack
    return struct.pack(">ih4si", node_id, 4, b"host", 9092) + end


def test_live_brokers_are_those_in_the_metadata_response():
    with answering(struct.pack(">i", 2) + node(1) + node(7, b"rack") + b"\0\x02id" + b"the rest") as (port, requests):
        assert wire.live_brokers("127.0.0.1", port) == ("id", {1, 7})
    assert requests == [b"\0\0\0\x1c" + b"\0\x03\0\x02\0\0\0\x01" + b"\0\x0eembedded-kafka" + b"\0\0\0\0"]


@pytest.mark.parametrize(("error", "ready"), [(0, True), (15, False)])
def test_a_coordinator_is_ready_if_the_response_has_no_error(error, ready):
    with answering(struct.pack(">ih", 0, error)) as (port, _):
        assert wire.coordinator_ready("127.0.0.1", port, "group") is ready


@pytest.mark.parametrize(("body", "size"), [(b"\0\0", None), (b"\0\0\0\x01\0", None), (b"", 1 << 30), (b"", 64)])
def test_a_response_of_another_protocol_is_an_oserror(body, size):
    with answering(body, size=size) as (port, _), pytest.raises(OSError, match=r"a response of|response\.brokers"):
        wire.live_brokers("127.0.0.1", port)
