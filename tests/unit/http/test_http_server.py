import http.client
import socket
import threading
import urllib.error
import urllib.request
from contextlib import contextmanager, suppress

import pytest

from rebalance_agent.api.events_endpoint import EventsApp
from rebalance_agent.clock import FakeClock
from rebalance_agent.errors import ListenError
from rebalance_agent.http.connections.connection import Limits
from rebalance_agent.http.events_post import EVENTS_PATH
from rebalance_agent.http.health import Readiness
from rebalance_agent.http.server import HttpServer
from rebalance_agent.model.event_json import json_line
from rebalance_agent.runtime.listeners.web import WebApp
from support.observer.views import member_event, with_own_id

PAGE = b"# HELP x X.\n# TYPE x gauge\nx 1\n"


@contextmanager
def serving(app, **bounds):
    server = HttpServer("127.0.0.1", 0, app, **bounds)
    server.start()
    try:
        yield server
    finally:
        server.stop()


def web():
    return WebApp((lambda _dialect: PAGE,), Readiness())


def fetch(server, path, data=None):
    request = urllib.request.Request(f"http://127.0.0.1:{server.port}{path}", data)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read()


def talk(server, request):
    """Send bytes; return all bytes until the server closes the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection:
        connection.sendall(request)
        received = b""
        while piece := connection.recv(65_536):
            received += piece
        return received


def test_a_free_port_is_found_and_served():
    with serving(web()) as server:
        assert server.port > 0
        assert fetch(server, "/metrics") == (200, PAGE)
        assert fetch(server, "/nothing")[0] == 404


def test_events_travel_from_a_client_to_the_sink():
    accepted = []
    app = EventsApp(lambda events, dropped: accepted.append((events, dropped)), FakeClock())
    event = with_own_id(member_event())
    with serving(app, body_bytes_max=1024 * 1024) as server:
        assert fetch(server, EVENTS_PATH, json_line(event))[0] == 200
        assert fetch(server, EVENTS_PATH, b"not json")[0] == 400
        assert fetch(server, "/metrics")[0] == 404
    assert accepted == [((event,), 0)]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_refused_body_is_not_parsed_as_the_next_request(chunked):
    accepted = []
    app = EventsApp(lambda events, dropped: accepted.append((events, dropped)), FakeClock())
    smuggled = f"POST {EVENTS_PATH} HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n".encode()
    length = "Transfer-Encoding: chunked" if chunked else f"Content-Length: {len(smuggled)}"
    head = f"POST /other HTTP/1.1\r\nHost: h\r\n{length}\r\n\r\n".encode()
    with serving(app, refuse=app.refuse, body_bytes_max=1024, limits=Limits(idle_seconds=0.3)) as server:
        answer = talk(server, head + smuggled)
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"HTTP/1.1 200 " not in answer
    assert accepted == []


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"POST /v1/events HTTP/1.1\r\nHost: h\r\nContent-Length: 2000\r\n\r\n", b"413"),
        (b"GET /metrics HTTP/1.1\r\nHost: h\r\nX: " + b"x" * 20_000 + b"\r\n\r\n", b"413"),
        (b"GET /" + b"x" * 20_000 + b" HTTP/1.1\r\nHost: h\r\n\r\n", b"414"),
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n folded: before any header\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\nHost: h\r\n\tfolded\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: -1\r\n\r\n", b"400"),
        (b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 1_0\r\n\r\n", b"400"),
    ],
)
def test_too_large_requests_and_other_protocols_are_refused(request_bytes, status):
    with serving(web(), body_bytes_max=1024) as server:
        assert talk(server, request_bytes).split(b" ")[1] == status
        assert fetch(server, "/metrics")[0] == 200


def test_a_client_that_sends_nothing_is_answered_with_408():
    with serving(web(), limits=Limits(workers=1, head_seconds=0.3)) as server:
        assert b"408" in talk(server, b"GET /metrics HTTP/1.1\r\nHost: h\r\n")
        assert fetch(server, "/metrics")[0] == 200


def test_a_trickling_client_blocks_a_thread_no_longer_than_the_request_timeout():
    done = threading.Event()

    def trickle(connection):
        with suppress(OSError):
            connection.sendall(b"GET /metrics HTTP/1.1\r\n")
            while not done.wait(0.05):
                connection.sendall(b"X: y\r\n")

    with (
        serving(web(), limits=Limits(workers=1, head_seconds=0.3)) as server,
        socket.create_connection(("127.0.0.1", server.port), timeout=10) as connection,
    ):
        sender = threading.Thread(target=trickle, args=[connection])
        sender.start()
        try:
            assert fetch(server, "/metrics") == (200, PAGE)
        finally:
            done.set()
            sender.join()


def test_a_port_in_use_is_an_error_that_names_it():
    with serving(web()) as server:
        second = HttpServer("127.0.0.1", server.port, web())
        with pytest.raises(ListenError, match=f"cannot listen on 127.0.0.1:{server.port}"):
            second.start()
        second.stop()


def test_stop_frees_the_port_and_may_be_called_twice():
    with serving(web()) as server:
        port = server.port
        server.stop()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=1)


def test_a_connection_serves_several_scrapes():
    with serving(web()) as server:
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=10)
        for _ in range(3):
            connection.request("GET", "/metrics")
            assert connection.getresponse().read() == PAGE
        connection.close()


def test_a_failing_application_answers_500_and_is_logged_not_printed(capfd, caplog):
    def broken(_request):
        raise RuntimeError("oh no")

    with serving(broken) as server:
        assert fetch(server, "/metrics")[0] == 500
    assert capfd.readouterr() == ("", "")
    assert "oh no" in caplog.text


def test_the_port_is_known_once_connections_are_accepted():
    server = HttpServer("127.0.0.1", 0, web())
    assert server.port == 0
    server.start()
    try:
        with socket.create_connection(("127.0.0.1", server.port), timeout=10):
            pass
    finally:
        server.stop()
