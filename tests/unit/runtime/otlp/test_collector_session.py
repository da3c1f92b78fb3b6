"""A collector's answers cost bounded time and memory, whatever it sends."""

from __future__ import annotations

import socket
import threading

import pytest
import requests

from rebalance_agent.clock import SystemClock
from rebalance_agent.runtime.otlp.collector_session import ANSWER_BYTES_MAX, CollectorSession

CLOCK = SystemClock()
TIMEOUT_S = 0.4
END = b"\r\n\r\nx"
"""The end of each request here."""
OK = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"


class RudeCollector:
    """Answers each request with the bytes of ``answers``, with ``pause_s`` between them. A context manager."""

    def __init__(self, *answers, pause_s=0.0):
        self.answers, self.pause_s, self.sent, self.connections, self.requests = answers, pause_s, 0, 0, 0
        self._never = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"

    def __enter__(self):
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_error):
        self._listener.close()

    def _serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._answer, args=[connection], daemon=True).start()

    def _answer(self, connection):
        with connection:
            try:
                came = b""
                while data := connection.recv(65536):
                    came += data
                    if not came.endswith(END):
                        continue
                    came, self.requests = b"", self.requests + 1
                    for part in self.answers:
                        connection.sendall(part)
                        self.sent += len(part)
                        self._never.wait(self.pause_s)
            except OSError:
                return


def post(collector, session=None):
    """The status (or the error's class) of an answer, and the seconds until it came."""
    started = CLOCK.monotonic()
    try:
        got = (session or CollectorSession()).post(collector.url, b"x", timeout=TIMEOUT_S).status_code
    except requests.RequestException as error:
        got = type(error)
    return got, CLOCK.monotonic() - started


def test_the_rest_of_a_long_answer_is_not_read():
    with RudeCollector(OK % (300 << 20), *[bytes(1 << 20)] * 300) as collector:
        assert post(collector)[0] == 200
        assert collector.sent < 100 << 20  # what the sockets' buffers hold


def test_a_head_that_arrives_byte_by_byte_ends_the_attempt():
    slow = [bytes([byte]) for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1_000]
    with RudeCollector(*slow, pause_s=TIMEOUT_S / 8) as collector:
        got, seconds = post(collector)
    assert issubclass(got, requests.ConnectionError | requests.Timeout)
    assert TIMEOUT_S / 2 < seconds < 5 * TIMEOUT_S


def test_a_body_that_arrives_byte_by_byte_does_not_delay_longer_than_the_timeout():
    with RudeCollector(OK % 1_000, *[b"x"] * 1_000, pause_s=TIMEOUT_S / 8) as collector:
        got, seconds = post(collector)
    assert got == 200, "the collector has accepted the request"
    assert seconds < 5 * TIMEOUT_S


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 304])
def test_a_redirect_is_an_error_and_is_not_followed(status):
    with RudeCollector(OK % 0) as target:
        head = f"HTTP/1.1 {status} Elsewhere\r\nLocation: {target.url}\r\nContent-Length: 0\r\n\r\n"
        with RudeCollector(head.encode()) as collector:
            assert post(collector)[0] is requests.TooManyRedirects
        assert target.connections == 0


@pytest.mark.parametrize("size", [0, ANSWER_BYTES_MAX // 2])
def test_a_connection_is_used_again_after_an_ordinary_answer(size):
    session = CollectorSession()
    with RudeCollector(OK % size + bytes(size)) as collector:
        assert [post(collector, session)[0] for _ in range(3)] == [200] * 3
        assert (collector.connections, collector.requests) == (1, 3)
