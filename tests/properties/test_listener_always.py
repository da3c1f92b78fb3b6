"""Invariants of a listener, for any client and any split of its requests."""

import socket
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rebalance_agent.http.connections.connection import Limits
from rebalance_agent.http.messages import Response
from rebalance_agent.http.server import HttpServer
from support.examples import examples

REQUEST = b"POST /x HTTP/1.1\r\nHost: h\r\nContent-Length: 11\r\n\r\nhello world"
LAST = b"GET /end HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
slow = settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture])


def echo(request):
    return Response("200 OK", "text/plain", request.body + request.path.encode())


@pytest.fixture(scope="module")
def server():
    made = HttpServer("127.0.0.1", 0, echo, limits=Limits(workers=2, head_seconds=0.5, body_seconds=0.5))
    made.start()
    yield made
    made.stop()


def said(server, pieces):
    """All received bytes, if the client does not wait for an answer."""
    with connect(server) as connection:
        received = b""
        with suppress(ConnectionResetError, BrokenPipeError):
            for piece in pieces:
                connection.sendall(piece)
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(65_536):
                received += piece
        return received


def connect(server):
    connection = socket.create_connection(("127.0.0.1", server.port), timeout=10)
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return connection


def bodies(received):
    return [part.partition(b"HTTP/1.1 200")[0] for part in received.split(b"\r\n\r\n")[1:]]


def split(text, cuts):
    return [text[start:end] for start, end in zip([0, *cuts], [*cuts, len(text)], strict=True)]


@slow
@given(st.lists(st.lists(st.integers(0, len(REQUEST)), max_size=6).map(sorted), max_size=3))
def test_split_requests_are_answered(server, cuts_of_requests):
    with connect(server) as connection:
        for cuts in cuts_of_requests:
            for piece in split(REQUEST, cuts):
                connection.sendall(piece)
            received = b""
            while not received.endswith(b"hello world/x"):
                piece = connection.recv(65_536)
                assert piece, "the connection stays open"
                received += piece
        connection.sendall(LAST)
        assert bodies(b"".join(iter(lambda: connection.recv(65_536), b""))) == [b"/end"]


@slow
@given(st.integers(1, 3), st.lists(st.integers(0, 3 * len(REQUEST) + len(LAST)), max_size=6).map(sorted))
def test_of_requests_without_a_wait_the_first_ones_are_answered_in_order(server, number, cuts):
    answers = bodies(said(server, split(number * REQUEST + LAST, cuts)))
    assert answers == [*number * [b"hello world/x"], b"/end"][: len(answers)]


@slow
@given(st.lists(st.binary(max_size=300) | st.sampled_from([b"\r\n\r\n", REQUEST, b"GET / HTTP/1.1\r\n"]), max_size=5))
def test_after_any_input_the_next_client_is_served(server, caplog, pieces):
    said(server, pieces)
    assert bodies(said(server, [LAST])) == [b"/end"]
    assert [record for record in caplog.records if record.exc_info] == []
