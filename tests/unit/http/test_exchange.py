"""HTTP on the wire with old and unusual clients."""

import socket
from contextlib import contextmanager, suppress

import pytest

from rebalance_agent.http.connections.connection import Limits
from rebalance_agent.http.messages import CHUNK_BYTES, Response, chunks
from rebalance_agent.http.server import HttpServer

GET = b"GET /a%20b?c=%20 HTTP/1.1\r\nHost: h\r\n"
LAST = b"GET /last HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nHost: h\r\n"


def app(request):
    """Responds with the request's parts."""
    body = f"{request.method} {request.path}?{request.query}".encode() + request.body
    return Response("200 OK", "text/plain", body)


@contextmanager
def serving(application=app):
    limits = Limits(idle_seconds=0.3, body_seconds=0.3)
    server = HttpServer("127.0.0.1", 0, application, body_bytes_max=20, limits=limits)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def talk(*requests, application=app):
    """Send each request after the answer to the one before; return all bytes until the server closes the connection."""
    waiting = list(requests)
    with serving(application) as server, socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(waiting.pop(0))
        received = b""
        while piece := connection.recv(65_536):
            received += piece
            if waiting:
                with suppress(OSError):  # the server has closed the connection
                    connection.sendall(waiting.pop(0))
        return received


@pytest.mark.parametrize(
    ("version", "connection", "answers"),
    [
        ("1.1", "", 2),
        ("1.1", "Connection: close\r\n", 1),
        ("1.0", "", 1),
        ("1.0", "Connection: Keep-Alive\r\n", 2),
    ],
)
def test_a_connection_is_kept_open_by_the_rules_of_its_http_version(version, connection, answers):
    received = talk(f"GET / HTTP/{version}\r\nHost: h\r\n{connection}\r\n".encode(), LAST)
    assert received.count(b"HTTP/1.1 200 OK") == answers
    assert (b"Keep-Alive: timeout=" in received) == (version == "1.0" and answers == 2)


def test_a_response_to_head_has_no_body():
    received = talk(b"HEAD /h HTTP/1.1\r\nHost: h\r\n\r\n", LAST)
    assert received.count(b"HTTP/1.1 200 OK") == 2
    assert b"HEAD /h" not in received
    assert received.endswith(b"GET /last?")


def test_the_path_is_decoded_and_the_query_is_not():
    assert talk(GET + b"\r\n").endswith(b"GET /a b?c=%20")


def test_a_client_that_waits_for_100_gets_it():
    received = talk(POST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\nhi")
    assert received.startswith(b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\n")
    assert received.endswith(b"POST /?hi")


@pytest.mark.parametrize("length", [b"", b"Content-Length: 12\r\n"])
def test_a_chunked_body_is_refused_and_is_the_last_of_its_connection(length):
    received = talk(POST + length + b"Transfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n" + LAST)
    assert received.startswith(b"HTTP/1.1 411 ")
    assert received.count(b"HTTP/1.1 ") == 1


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (POST + b"Expect: 100-continue\r\nContent-Length: 21\r\n\r\n", b"413"),
        (POST + b"Transfer-Encoding: chunked\r\n\r\n15\r\n" + b"x" * 21 + b"\r\n0\r\n\r\n" + LAST, b"411"),
        (POST + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nabc", b"400"),
        (POST + b"Content-Length: +5\r\n\r\nhello", b"400"),
        (POST + b"Transfer-Encoding: gzip\r\n\r\n", b"501"),
        (b"GET / HTTP/1.1\nHost: h\n\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: h\n\nGET /smuggled HTTP/1.1\r\nHost: h\r\n\r\n", b"400"),
        (b"GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n", b"400"),
        (b"GET / HTTP/2.0\r\nHost: h\r\n\r\n", b"505"),
        (b"GET / HTTP/1.1\r\nHost: h\r\n" + b"X" * 200 + b"\0: y\r\n\r\n", b"400"),
        (POST + b"Content-Length: 5\r\n\r\nhel", b"408"),
    ],
)
def test_a_refused_request_ends_the_connection(request_bytes, status):
    received = talk(request_bytes)
    assert received.split(b" ")[1] == status
    assert received.count(b"HTTP/1.1 ") == 1
    assert len(received) < 500


def test_a_failing_application_leaves_the_connection_usable(caplog):
    def broken(request):
        if request.path != "/last":
            raise RuntimeError("oh no")
        return app(request)

    received = talk(GET + b"\r\n", LAST, application=broken)
    assert received.startswith(b"HTTP/1.1 500 Internal Server Error\r\n")
    assert received.endswith(b"GET /last?")
    assert "/a b failed" in caplog.text


def test_large_responses_are_sent_in_pieces_of_one_size():
    pieces = [b"a" * 10, b"b" * (3 * CHUNK_BYTES), b"", b"c" * 5]
    sent = list(chunks(pieces))
    assert b"".join(sent) == b"".join(pieces)
    assert [len(chunk) for chunk in sent] == [CHUNK_BYTES] * 3 + [15]


def test_repeated_headers_are_joined():
    def headers(request):
        return Response("200 OK", "text/plain", request.headers["x-y"].encode())

    assert talk(GET + b"X-Y: 1\r\nx-y: 2\r\n\r\n", application=headers).endswith(b"1, 2")
