"""Incomplete requests to a listener, and names whose texts must be unique."""

from __future__ import annotations

import contextlib
import socket
from functools import cache

from fuzz.target import KB, MB, Target, joined, parts
from fuzz.targets.web import PATIENCE_S, WORDS, Faults, logged_faults
from rebalance_agent.api.events_endpoint import EventsApp
from rebalance_agent.clock import SystemClock
from rebalance_agent.http.connections.connection import Limits
from rebalance_agent.http.health import Readiness
from rebalance_agent.http.server import HttpServer
from rebalance_agent.runtime.listeners.web import HEALTH_PATHS, WebApp
from rebalance_agent.visible_names import visible

__all__ = ["TARGETS"]

CLIENTS_MAX = 24
LIMITS = Limits(connections=8, requests=4, bodies_bytes=4 * KB, answers_bytes=64 * KB, workers=2)
EVENTS_LIMITS = Limits(connections=100, requests=90, bodies_bytes=4 * KB, workers=2)
"""Slots for all complete requests of two inputs, which wait for a worker here; the bound of bodies is small."""

HEALTH = b"GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"


@cache
def servers() -> tuple[list[int], Faults]:
    """Ports of a web listener with large pages and an events listener, with few slots, and their logs."""
    web = WebApp((lambda _dialect: b"# HELP a b\n" * 100_000,), Readiness(["kafka"]))
    events = EventsApp(lambda _events, _dropped: None, SystemClock())
    made = [
        HttpServer("127.0.0.1", 0, web, refuse=web.refuse, urgent=HEALTH_PATHS, limits=LIMITS),
        HttpServer("127.0.0.1", 0, events, refuse=events.refuse, body_bytes_max=8 * KB, limits=EVENTS_LIMITS),
    ]
    for each in made:
        each.start()
    return [each.port for each in made], logged_faults()


def take_held(data):
    """The first byte chooses the listener; each piece is sent by one client, which then waits without end."""
    ports, faults = servers()
    port = ports[data[0] % 2 if data else 0]
    with contextlib.ExitStack() as stack:
        for piece in parts(data[1:])[:CLIENTS_MAX]:
            client = stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE_S))
            with contextlib.suppress(OSError):  # the listener has already closed it
                client.sendall(piece or b"")
        last = stack.enter_context(socket.create_connection(("127.0.0.1", port), PATIENCE_S))
        last.sendall(HEALTH)
        answer = last.recv(100)
    assert answer.startswith((b"HTTP/1.1 200", b"HTTP/1.1 404")[ports.index(port)]), answer
    assert faults.found == []


def take_names(data):
    """Names, of which some differ by an escape only: no two have the same text, and all texts are UTF-8."""
    names = {(piece or b"").decode("utf-8", "surrogatepass" if number % 2 else "surrogateescape")
             for number, piece in enumerate(parts(data)) if _decodes(piece, number)}  # fmt: skip
    names |= {name.encode("utf-8", "backslashreplace").decode() for name in names}
    texts = {visible(name).encode() for name in names}
    assert len(texts) == len(names)


def _decodes(piece, number):
    with contextlib.suppress(UnicodeDecodeError):
        (piece or b"").decode("utf-8", "surrogatepass" if number % 2 else "surrogateescape")
        return True
    return False


def held():
    post = b"POST /v1/events HTTP/1.1\r\nHost: h\r\nContent-Length: 4000\r\n\r\n" + b"x" * 1_000
    page = b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n"
    return [b"\0" + joined(b"", b"GET /me", post, page, page), b"\1" + joined(*[post] * 6, b"POST /v1")]


def names():
    return [joined(b"a\xff", b"a\xed\xa0\x80", b"a\\udcff", b"a\\\\ud800", b"orders")]


TARGETS = (
    Target("held", take_held, held, WORDS, 4.0, 32 * MB, 400, 16 * KB, framed_from=1, threaded=True),
    Target("name", take_names, names, (b"\\ud800", b"\\", b"\xed\xa0\x80", b"ud8"), framed_from=0),
)
