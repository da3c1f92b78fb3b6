"""The memory of bodies and responses for all clients of a listener together is bounded."""

from __future__ import annotations

import socket
from contextlib import ExitStack, contextmanager, suppress

import pytest

from rebalance_agent.api.events_endpoint import EventsApp
from rebalance_agent.clock import FakeClock
from rebalance_agent.http.connections.connection import Limits
from rebalance_agent.http.health import Readiness
from rebalance_agent.http.messages import Response
from rebalance_agent.http.server import HttpServer
from rebalance_agent.runtime.listeners.web import WebApp

KB = 1024
PAGE = b"x" * (2_000 * KB)


def app(request):
    return Response("200 OK", "text/plain", PAGE if request.path == "/page" else b"%d" % len(request.body))


@contextmanager
def serving(app=app, refuse=lambda _head: None, **limits):
    cut = []
    server = HttpServer(
        "127.0.0.1", 0, app, refuse=refuse, body_bytes_max=100 * KB, limits=Limits(**limits), on_cut=cut.append
    )
    server.start()
    try:
        yield server, cut
    finally:
        server.stop()


def connect(stack, server):
    return stack.enter_context(socket.create_connection(("127.0.0.1", server.port), timeout=30))


def rest(connection):
    received = bytearray()
    with suppress(ConnectionResetError):
        while piece := connection.recv(65_536):
            received += piece
    return bytes(received)


def kept(server):
    return list(server._connections._connections._open)


def test_bodies_of_all_connections_have_one_bound():
    """The client with the fewest bytes per second is closed; a body that arrives at once is accepted."""
    head = b"POST / HTTP/1.1\r\nHost: h\r\nConnection: close\r\nContent-Length: %d\r\n\r\n"
    with serving(bodies_bytes=250 * KB) as (server, cut), ExitStack() as stack:
        slow = [connect(stack, server) for _ in range(20)]
        for each in slow:
            each.sendall(head % (80 * KB) + b"x" * (79 * KB))
            last = connect(stack, server)
            last.sendall(head % (70 * KB) + b"x" * (70 * KB))
            assert rest(last).endswith(b"%d" % (70 * KB))
            assert sum(connection.body_bytes for connection in kept(server)) <= 250 * KB
        assert cut.count("room") >= 17


def test_unread_responses_of_all_connections_have_one_bound():
    request = b"GET /page HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
    with serving(answers_bytes=3 * len(PAGE) + 10 * KB) as (server, cut), ExitStack() as stack:
        for _ in range(10):
            silent = connect(stack, server)
            silent.sendall(request)
            assert silent.recv(1)
            last = connect(stack, server)
            last.sendall(request)
            assert rest(last).endswith(PAGE)
        assert cut.count("slow_answer") >= 7


@pytest.mark.parametrize("length", [b"Content-Length: 100000", b"Transfer-Encoding: chunked"])
@pytest.mark.parametrize(
    ("kind", "line", "status"),
    [
        ("web", b"POST /metrics", b"405"),
        ("web", b"GET /metrics", b"413"),
        ("web", b"GET /healthz", b"413"),
        ("web", b"GET /nothing", b"404"),
        ("events", b"POST /other", b"404"),
        ("events", b"GET /v1/events", b"405"),
        ("events", b"POST /v1/events", b"403"),
    ],
)
def test_a_request_refused_by_its_head_does_not_wait_for_its_body(kind, line, status, length):
    app = WebApp((), Readiness()) if kind == "web" else EventsApp(lambda _events, _dropped: None, FakeClock())
    with serving(app, app.refuse, body_seconds=1e6) as (server, _), ExitStack() as stack:
        client = connect(stack, server)
        client.sendall(line + b" HTTP/1.1\r\nHost: h\r\nOrigin: null\r\n" + length + b"\r\n\r\n")
        assert rest(client).startswith(b"HTTP/1.1 " + status)
