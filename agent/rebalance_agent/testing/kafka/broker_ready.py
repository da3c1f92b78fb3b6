"""Checks whether a broker is ready, with two requests of Kafka's protocol and without a Kafka client.

Both are versions without flexible fields (Kafka protocol guide): Metadata v2, the first that has the cluster's id, and
FindCoordinator v1.
"""

from __future__ import annotations

import socket
import struct

__all__ = ["coordinator_ready", "live_brokers"]

TIMEOUT_S = 2.0
"""Timeout of one request on the loopback interface. A broker that is still starting is asked again."""

ANSWER_MAX = 1 << 20
"""Maximum size of a response in bytes. One about a few brokers has some hundred."""

_METADATA, _FIND_COORDINATOR = 3, 10
_CORRELATION_BYTES = 4
_CLIENT = "embedded-kafka"


def live_brokers(host: str, port: int) -> tuple[str, frozenset[int]]:
    """The cluster's id, and the node ids of its live brokers (registered and not fenced).

    Raises:
        OSError: no connection, or no response in time.

    """
    answer = _Reader(_ask(host, port, _METADATA, 2, struct.pack(">i", 0)))  # an empty array: no topics, only brokers
    nodes = set()
    for _ in range(answer.int32()):
        nodes.add(answer.int32())
        answer.string()  # host
        answer.int32()  # port
        answer.string()  # rack
    return answer.string(), frozenset(nodes)


def coordinator_ready(host: str, port: int, group: str) -> bool:
    """Whether ``group`` has a coordinator. The request makes Kafka create the offsets topic if it does not exist.

    Raises:
        OSError: no connection, or no response in time.

    """
    answer = _Reader(_ask(host, port, _FIND_COORDINATOR, 1, _string(group) + b"\0"))  # key type 0: a group
    answer.int32()  # throttle time
    return answer.int16() == 0


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    def _take(self, size: int) -> bytes:
        part = self._data[self._at : self._at + size]
        if len(part) < size:
            msg = "the broker's answer ends early"
            raise ConnectionError(msg)
        self._at += size
        return part

    def int16(self) -> int:
        return int.from_bytes(self._take(2), "big", signed=True)

    def int32(self) -> int:
        return int.from_bytes(self._take(4), "big", signed=True)

    def string(self) -> str:
        return self._take(max(self.int16(), 0)).decode(errors="replace")  # a length of -1 is null


def _string(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">h", len(data)) + data


def _ask(host: str, port: int, key: int, version: int, body: bytes) -> bytes:
    request = struct.pack(">hhi", key, version, 1) + _string(_CLIENT) + body
    with socket.create_connection((host, port), timeout=TIMEOUT_S) as connection:
        connection.sendall(struct.pack(">i", len(request)) + request)
        size = int.from_bytes(_receive(connection, 4), "big")
        if not _CORRELATION_BYTES <= size <= ANSWER_MAX:
            msg = f"an answer of {size} bytes: that is not a Kafka broker"
            raise ConnectionError(msg)
        return _receive(connection, size)[_CORRELATION_BYTES:]


def _receive(connection: socket.socket, size: int) -> bytes:
    data = b""
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            msg = "the connection was closed before the answer was complete"
            raise ConnectionError(msg)
        data += part
    return data
