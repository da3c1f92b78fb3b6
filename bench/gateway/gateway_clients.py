"""Sends requests to a broker with little work: the frames are prepared, and responses are not decoded.

A real client would be the slowest part, and would hide the cost of the gateway.
"""

from __future__ import annotations

import contextlib
import select
import socket
import struct
from collections.abc import Callable, Iterator, Sequence
from time import perf_counter

from kafka.protocol.consumer import FetchRequest
from kafka.protocol.producer import ProduceRequest
from kafka.record import MemoryRecordsBuilder

FETCH_BYTES = 1024 * 1024
"""Maximum number of bytes per partition of a consumer's fetch, by default."""

UNDER_WAY = 2
"""Number of unanswered requests per connection: enough that neither side waits for the next request."""

_LENGTH = struct.Struct(">i")
_PIECE_BYTES = 256 * 1024


def fetch(topic: str, offset: int, size: int) -> bytes:
    """Return a Fetch request (v4) for partition 0, with its length."""
    partition = FetchRequest.FetchTopic.FetchPartition(
        version=4, partition=0, fetch_offset=offset, partition_max_bytes=size
    )
    asked = FetchRequest.FetchTopic(version=4, topic=topic, partitions=[partition])
    return _framed(
        FetchRequest(
            version=4, replica_id=-1, max_wait_ms=500, min_bytes=1, max_bytes=size, isolation_level=0, topics=[asked]
        )
    )


def produce(topic: str, value: bytes) -> bytes:
    """Return a Produce request (v9) with one record for partition 0 and acks=1, with its length."""
    batch = MemoryRecordsBuilder(magic=2, compression_type=0, batch_size=10_000)
    batch.append(timestamp=0, key=None, value=value)
    batch.close()
    partition = ProduceRequest.TopicProduceData.PartitionProduceData(version=9, index=0, records=bytes(batch.buffer()))
    data = ProduceRequest.TopicProduceData(version=9, name=topic, partition_data=[partition])
    return _framed(ProduceRequest(version=9, transactional_id=None, acks=1, timeout_ms=5_000, topic_data=[data]))


def _framed(message: ProduceRequest) -> bytes:
    message.with_header(correlation_id=1, client_id="bench")
    return bytes(message.encode(header=True, framed=True))


@contextlib.contextmanager
def connected(port: int, number: int, host: str = "127.0.0.1") -> Iterator[list[socket.socket]]:
    """Open ``number`` connections from the address ``host``, without Nagle's algorithm."""
    with contextlib.ExitStack() as stack:
        sockets = []
        for _ in range(number):
            each = stack.enter_context(socket.create_connection(("127.0.0.1", port), source_address=(host, 0)))
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            sockets.append(each)
        yield sockets


def call_seconds(connection: socket.socket, asked: bytes, buffer: bytearray) -> float:
    """Send a request; return the seconds to its complete response, which must fit into ``buffer``."""
    start = perf_counter()
    connection.sendall(asked)
    got, size = 0, _LENGTH.size
    while got < size:
        read = connection.recv_into(memoryview(buffer)[got:])
        if not read:
            raise SystemExit("the connection ended inside an answer")
        got += read
        if got >= _LENGTH.size:
            size = _LENGTH.size + int(_LENGTH.unpack_from(buffer)[0])
    return perf_counter() - start


class Reader:
    """Reads the responses of one connection. After each, ``again`` sends the next request, or returns False."""

    def __init__(self, connection: socket.socket, again: Callable[[socket.socket], bool]) -> None:
        """Start without a request; nothing is sent yet."""
        self.connection, self.moved, self.under_way = connection, 0, 0
        self._again, self._missing, self._head = again, 0, b""

    def ask(self) -> None:
        """Send a request, unless ``again`` returns False."""
        self.under_way += self._again(self.connection)

    def take(self, buffer: memoryview) -> None:
        """Read the bytes that have arrived."""
        while True:
            try:
                if self._missing:
                    read = self.connection.recv_into(buffer[: min(len(buffer), self._missing)])
                else:
                    part = self.connection.recv(_LENGTH.size - len(self._head))
                    self._head, read = self._head + part, len(part)
            except BlockingIOError:
                return
            if not read:
                raise SystemExit("the connection ended inside an answer")
            self.moved += read
            if self._missing:
                self._missing -= read
                if not self._missing:
                    self.under_way -= 1
                    self.ask()
                    return
            elif len(self._head) == _LENGTH.size:
                (self._missing,) = _LENGTH.unpack(self._head)
                self._head = b""


def read_bulk(sockets: Sequence[socket.socket], asked: bytes, size: int) -> tuple[int, float]:
    """Read at least ``size`` bytes over all connections together; return the bytes read and the seconds."""
    left = [max(len(sockets), -(-size // FETCH_BYTES))]

    def again(connection: socket.socket) -> bool:
        if not left[0]:
            return False
        left[0] -= 1
        connection.setblocking(True)
        connection.sendall(asked)
        connection.setblocking(False)
        return True

    buffer, poll = memoryview(bytearray(_PIECE_BYTES)), select.epoll()
    readers = {each.fileno(): Reader(each, again) for each in sockets}
    start = perf_counter()
    with poll:
        for number, reader in readers.items():
            for _ in range(UNDER_WAY):
                reader.ask()
            poll.register(number, select.EPOLLIN)
        while any(reader.under_way for reader in readers.values()):
            for number, _ in poll.poll():
                readers[number].take(buffer)
    for each in sockets:
        each.setblocking(True)
    return sum(reader.moved for reader in readers.values()), perf_counter() - start
