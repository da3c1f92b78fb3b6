"""A listener with deliberately slow clients serves the others and leaks no resources."""

import socket
import threading
import urllib.request
from contextlib import ExitStack, contextmanager, suppress

import pytest

from rebalance_agent.clock import SystemClock
from rebalance_agent.http.connections.connection import Limits
from rebalance_agent.http.connections.open_connections import OpenConnections
from rebalance_agent.http.exchange import HttpApplication
from rebalance_agent.http.messages import Response
from rebalance_agent.http.server import HttpServer

HEAD = b"GET / HTTP/1.1\r\nHost: h\r\n"
LARGE = b"x" * (64 * 1024 * 1024)
SLOW = 150
COUNTED = []


@pytest.fixture(autouse=True)
def _counted_anew():
    COUNTED.clear()


def app(request):
    return Response("200 OK", "text/plain", LARGE if request.path == "/large" else b"ok")


@contextmanager
def serving(app=app, urgent=(), refuse=lambda _head: None, tls=None, body_bytes_max=1024, **limits):
    server = HttpServer(
        "127.0.0.1",
        0,
        app,
        refuse=refuse,
        body_bytes_max=body_bytes_max,
        limits=Limits(**limits),
        tls=tls,
        urgent=urgent,
        on_cut=COUNTED.append,
    )
    server.start()
    try:
        yield server
    finally:
        server.stop()


def answer(server, seconds=10):
    with urllib.request.urlopen(f"http://127.0.0.1:{server.port}/", timeout=seconds) as got:
        return got.read()


@contextmanager
def busy(**limits):
    """A server with a worker whose application does not return before the end."""
    entered, over = threading.Event(), threading.Event()

    def computes(request):
        if request.path == "/slow":
            entered.set()
            over.wait()
        return app(request)

    with serving(app=computes, **limits) as server, connect(server) as client:
        workers = [each for each in threading.enumerate() if each.name.startswith(f"http-{server.port}-")]
        client.sendall(b"GET /slow HTTP/1.1\r\nHost: h\r\n\r\n")
        assert entered.wait(30)
        try:
            yield server
        finally:
            over.set()
            server.stop()
            for each in workers:
                each.join(30)


def connect(server):
    return socket.create_connection(("127.0.0.1", server.port), timeout=10)


def rest(connection):
    """Return all bytes until the server closes the connection."""
    received = bytearray()
    with suppress(ConnectionResetError):
        while piece := connection.recv(65_536):
            received += piece
    return bytes(received)


@pytest.mark.parametrize("said", [b"", HEAD])
def test_clients_that_send_nothing_do_not_delay_others(said):
    with serving(head_seconds=60) as server, ExitStack() as stack:
        for _ in range(SLOW):
            stack.enter_context(connect(server)).sendall(said)
        for _ in range(5):
            assert answer(server) == b"ok"


def test_trickling_clients_block_no_worker():
    done = threading.Event()

    def trickle(connections):
        while not done.wait(0.01):
            for connection in connections:
                with suppress(OSError):
                    connection.sendall(b"X: y\r\n")

    with serving(workers=1, head_seconds=60) as server, ExitStack() as stack:
        slow = [stack.enter_context(connect(server)) for _ in range(SLOW)]
        for connection in slow:
            connection.sendall(HEAD)
        sender = threading.Thread(target=trickle, args=[slow])
        sender.start()
        try:
            assert [answer(server) for _ in range(5)] == [b"ok"] * 5
        finally:
            done.set()
            sender.join()


def test_a_client_that_sends_no_head_in_time_is_counted_and_closed():
    with serving(head_seconds=0.2) as server, connect(server) as silent, connect(server) as half:
        half.sendall(HEAD)
        assert rest(silent).startswith(b"HTTP/1.1 408 ")
        assert rest(half).startswith(b"HTTP/1.1 408 ")
    assert COUNTED == ["slow_head"] * 2


def test_beyond_the_limit_the_longest_idle_connection_is_closed():
    with serving(connections=3, head_seconds=60) as server, connect(server) as first, connect(server) as second:
        with connect(server) as third:
            assert answer(server) == b"ok"
            assert rest(first) == b""
            third.sendall(HEAD + b"\r\n")
            assert third.recv(100).startswith(b"HTTP/1.1 200 ")
        second.sendall(HEAD + b"\r\n")
        assert second.recv(100).startswith(b"HTTP/1.1 200 ")
    assert COUNTED == ["room"]


@pytest.mark.parametrize("bounds", [{"connections": 1}, {"requests": 1}])
def test_a_new_request_is_refused_if_all_connections_are_being_answered(bounds):
    with busy(workers=1, **bounds) as server, connect(server) as refused:
        refused.sendall(HEAD + b"\r\n")
        assert rest(refused).startswith(b"HTTP/1.1 503 ")
    assert COUNTED == ["refused"]


def test_slow_readers_block_no_worker_and_get_their_complete_responses():
    with serving(workers=1, answers_bytes=3 * len(LARGE)) as server, ExitStack() as stack:
        slow = [stack.enter_context(connect(server)) for _ in range(2)]
        for each in slow:
            each.sendall(b"GET /large HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
            assert each.recv(1)
        assert answer(server) == b"ok"
        assert [len(rest(each).partition(b"\r\n\r\n")[2]) for each in slow] == [len(LARGE)] * 2
    assert COUNTED == []


def test_urgent_requests_wait_for_no_slow_reader():
    with serving(urgent=("/",), workers=1) as server, connect(server) as slow, connect(server) as waiting:
        slow.sendall(b"GET /large HTTP/1.1\r\nHost: h\r\n\r\n")
        assert slow.recv(1)
        waiting.sendall(b"GET /other HTTP/1.1\r\nHost: h\r\n\r\n")
        assert answer(server) == b"ok"
        assert COUNTED == []


def test_urgent_requests_of_one_address_do_not_hold_all_connections():
    bounds = {"connections": 6, "requests": 2, "urgent_requests": 2, "answers_bytes": 1 << 40}
    with serving(urgent=("/", "/large"), **bounds) as server, ExitStack() as stack:
        for _ in range(6):
            other = socket.create_connection(("127.0.0.1", server.port), 10, source_address=("127.0.0.2", 0))
            stack.enter_context(other).sendall(b"GET /large HTTP/1.1\r\nHost: h\r\n\r\n")
            with suppress(ConnectionResetError):
                other.recv(1)
        assert answer(server) == b"ok"


def test_urgent_requests_of_one_address_leave_those_of_others_their_places():
    bounds = {"requests": 2, "urgent_requests": 2, "answers_bytes": 1 << 40}
    with serving(urgent=("/", "/large"), **bounds) as server, ExitStack() as stack:
        for _ in range(2):
            other = socket.create_connection(("127.0.0.1", server.port), 10, source_address=("127.0.0.2", 0))
            stack.enter_context(other).sendall(b"GET /large HTTP/1.1\r\nHost: h\r\n\r\n")
            assert other.recv(1)
        assert answer(server) == b"ok"
        assert COUNTED == [], "no reader was cut off for it"


def test_one_response_may_exceed_the_shared_bound():
    with serving(workers=1, answers_bytes=1_000) as server, connect(server) as slow:
        slow.sendall(b"GET /large HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n")
        head, _, body = rest(slow).partition(b"\r\n\r\n")
        assert (head.split(b"\r\n")[0], len(body)) == (b"HTTP/1.1 200 OK", len(LARGE))


def test_a_slow_body_is_cut_at_the_deadline():
    with serving(body_seconds=0.3) as server, connect(server) as slow:
        slow.sendall(b"POST /body HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\nhalf")
        assert rest(slow).startswith(b"HTTP/1.1 408 ")
    assert COUNTED == ["slow_body"]


def test_an_idle_connection_is_closed_without_a_response():
    with serving(idle_seconds=0.2) as server, connect(server) as idle:
        idle.sendall(HEAD + b"\r\n")
        received = rest(idle)
        assert received.count(b"HTTP/1.1 ") == 1
        assert received.endswith(b"ok")


@pytest.mark.parametrize("urgent", [("/",), ()])
def test_of_pipelined_requests_only_the_first_is_answered(urgent):
    with serving(urgent=urgent) as server, connect(server) as flood, connect(server) as probe:
        flood.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n" * 200)
        with suppress(ConnectionResetError):  # the other requests were not read
            assert rest(flood).count(b"HTTP/1.1 200 OK") == 1
        for _ in range(2):
            probe.sendall(b"GET / HTTP/1.1\r\nHost: h\r\n\r\n")
            assert probe.recv(1_000).startswith(b"HTTP/1.1 200 OK"), "a probe keeps its connection"


def test_stop_ends_all_connections_within_its_bound():
    with ExitStack() as stack:
        with serving(head_seconds=60) as server:
            slow = [stack.enter_context(connect(server)) for _ in range(20)]
            slow[0].sendall(b"GET /large HTTP/1.1\r\nHost: h\r\n\r\n")
            assert slow[0].recv(1)
        assert not [each for each in threading.enumerate() if each.name.startswith(f"http-{server.port}")]
        assert all(rest(each) == b"" for each in slow[1:])


def test_stop_ends_while_a_request_is_passed_on(monkeypatch):
    """The request arrives while `stop` waits for the accepting thread."""
    stopping, wait = threading.Event(), threading.Condition.wait
    polling, poll = threading.Event(), OpenConnections.poll

    def noted(condition, timeout=None):
        if threading.current_thread().name == "stop":
            stopping.set()  # the condition's lock is released after this
        return wait(condition, timeout)

    def poll_once_stopping(connections, *seconds):
        polling.set()
        stopping.wait()
        if seconds:  # `finish`, when no thread is waiting
            poll(connections, *seconds)
        while not (connections.ready or seconds):
            poll(connections)

    server = HttpServer("127.0.0.1", 0, app, limits=Limits(workers=4))
    monkeypatch.setattr(OpenConnections, "poll", poll_once_stopping)
    server.start()
    polling.wait()
    with connect(server) as client:
        client.sendall(HEAD + b"\r\n")
        monkeypatch.setattr(threading.Condition, "wait", noted)
        stop = threading.Thread(target=server.stop, name="stop", daemon=True)
        stop.start()
        stop.join(10)
        assert not stop.is_alive()


def test_bytes_of_a_closed_connection_are_ignored():
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        never = threading.Event()
        application = HttpApplication(app, body_bytes_max=0, idle_seconds=1)
        connections = OpenConnections(listener, application, Limits(connections=1), SystemClock(), None, print, never)
        connections.start()
        stack.callback(connections.close)
        stack.callback(connections.finish, 0)
        first = stack.enter_context(socket.create_connection(listener.getsockname()))
        connections.poll()
        (before,) = connections._open
        stack.enter_context(socket.create_connection(listener.getsockname()))
        first.sendall(b"G")
        connections.poll()
        (after,) = connections._open
        assert before is not after


@pytest.mark.parametrize("urgent", [(), ("/slow",)])
def test_stop_waits_no_longer_than_its_bound_for_a_worker_that_hangs(monkeypatch, urgent):
    monkeypatch.setattr("rebalance_agent.http.server.STOP_SECONDS", 0.3)
    with busy(workers=1, urgent=urgent) as server:
        port = server.port
        server.stop()  # the application has not returned
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=10)
