"""A collector's answers cost bounded time and memory, whatever it sends."""

from __future__ import annotations

from functools import partial

import pytest
import requests

from rebalance_agent.clock import SystemClock
from rebalance_agent.runtime.otlp.collector_session import ANSWER_BYTES_MAX, CollectorSession
from support.http.rude_server import OK, RudeServer

CLOCK = SystemClock()
TIMEOUT_S = 0.4
BODY = b"x"
collecting = partial(RudeServer, end=BODY)


def post(collector, session=None):
    """The status (or the error's class) of an answer, and the seconds until it came."""
    started = CLOCK.monotonic()
    try:
        got = (session or CollectorSession()).post(collector.url, BODY, timeout=TIMEOUT_S).status_code
    except requests.RequestException as error:
        got = type(error)
    return got, CLOCK.monotonic() - started


def test_the_rest_of_a_long_answer_is_not_read():
    with collecting(OK % (300 << 20), *[bytes(1 << 20)] * 300) as collector:
        assert post(collector)[0] == 200
        assert collector.sent < 100 << 20  # what the sockets' buffers hold


def test_a_head_that_arrives_byte_by_byte_ends_the_attempt():
    slow = [bytes([byte]) for byte in b"HTTP/1.1 200 OK\r\nX: " + b"x" * 1_000]
    with collecting(*slow, pause_s=TIMEOUT_S / 8) as collector:
        got, seconds = post(collector)
    assert issubclass(got, requests.ConnectionError | requests.Timeout)
    assert TIMEOUT_S / 2 < seconds < 5 * TIMEOUT_S


def test_a_body_that_arrives_byte_by_byte_does_not_delay_longer_than_the_timeout():
    with collecting(OK % 1_000, *[b"x"] * 1_000, pause_s=TIMEOUT_S / 8) as collector:
        got, seconds = post(collector)
    assert got == 200, "the collector has accepted the request"
    assert seconds < 5 * TIMEOUT_S


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308, 304])
def test_a_redirect_is_an_error_and_is_not_followed(status):
    with collecting(OK % 0) as target:
        head = f"HTTP/1.1 {status} Elsewhere\r\nLocation: {target.url}\r\nContent-Length: 0\r\n\r\n"
        with collecting(head.encode()) as collector:
            assert post(collector)[0] is requests.TooManyRedirects
        assert target.connections == 0


@pytest.mark.parametrize("size", [0, ANSWER_BYTES_MAX // 2])
def test_a_connection_is_used_again_after_an_ordinary_answer(size):
    session = CollectorSession()
    with collecting(OK % size + bytes(size)) as collector:
        assert [post(collector, session)[0] for _ in range(3)] == [200] * 3
        assert (collector.connections, collector.requests) == (1, 3)
