"""An answer is sent in few steps, since each of them gives the interpreter's lock away."""

from __future__ import annotations

from contextlib import suppress

from rebalance_agent.http.connections.outgoing import Outgoing
from rebalance_agent.http.connections.steps import SENT_MAX
from rebalance_agent.http.server import SEND_BUFFER_BYTES

MB = 2**20


class Socket:
    """A connection whose client empties the buffer of ``size`` bytes between two steps."""

    def __init__(self, size):
        self.size, self.calls, self.blocked, self.taken = size, 0, 0, bytearray()
        self.empty()

    def empty(self):
        self.free = self.size

    def send(self, data):
        self.calls += 1
        if not self.free:
            self.blocked += 1
            raise BlockingIOError
        number = min(len(data), self.free)
        self.free -= number
        self.taken += data[:number]
        return number


def _sent(pieces, size):
    client, outgoing = Socket(size), Outgoing(pieces)
    while outgoing.left:
        with suppress(BlockingIOError):
            outgoing.send(client, SENT_MAX)
        client.empty()
    assert client.taken == b"".join(pieces)
    return client


def test_a_page_of_many_small_pieces_takes_one_call_for_each_buffer():
    pieces = [bytes([index % 256]) * 200 for index in range(8 * MB // 200)]
    client = _sent(pieces, SEND_BUFFER_BYTES)
    assert client.calls - client.blocked == 8 * MB // SEND_BUFFER_BYTES


def test_a_full_buffer_is_not_tried_again_in_the_same_step():
    assert _sent([b"x" * MB], 100_000).blocked == 0
