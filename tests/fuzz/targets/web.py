"""HTTP from a socket: both complete listeners with their threads, on loopback."""

from __future__ import annotations

import logging
import socket
from functools import cache

from fuzz.target import KB, MB, Target
from fuzz.targets.posted import posts
from rebalance_agent.api.events_endpoint import EventsApp
from rebalance_agent.clock import SystemClock
from rebalance_agent.http.events_post import ALIVE_HEADER, DROPPED_HEADER
from rebalance_agent.http.health import Readiness
from rebalance_agent.http.server import HttpServer
from rebalance_agent.runtime.listeners.web import HEALTH_PATHS, WebApp
from support.http.api import api_of
from support.observer.views import full_view

__all__ = ["PATIENCE_S", "TARGETS", "WORDS", "Faults", "logged_faults"]

PATIENCE_S = 60.0
HEADERS = (ALIVE_HEADER.encode(), DROPPED_HEADER.encode())
WORDS = (
    b"\r\n", b"\r\n\r\n", b"GET ", b"POST ", b"HEAD ", b"HTTP/1.1", b"HTTP/1.0", b"HTTP/0.9", b"Content-Length: ",
    b"-1", b"Transfer-Encoding: chunked", b"0\r\n\r\n", b"Expect: 100-continue", b"Connection: keep-alive", b"Host: ",
    b"/metrics", b"Authorization: Bearer ", b"Accept-Encoding: gzip", b"99999999999999999999", b"\0", b" ", b"\t",
)  # fmt: skip


class Faults(logging.Handler):
    """Exceptions that the servers log: no request may cause one."""

    def __init__(self):
        super().__init__(logging.ERROR)
        self.found = []

    def emit(self, record):
        self.found.append(self.format(record))


@cache
def logged_faults():
    """All log records of this process's listeners from now on."""
    faults = Faults()
    logging.getLogger("rebalance_agent").addHandler(faults)
    return faults


@cache
def servers():
    """Ports of a web listener and an events listener, and the errors that they logged."""
    readiness = Readiness(["kafka"])
    web = WebApp((lambda _dialect: b"# HELP a b\n",), readiness, api=api_of(full_view())[0], config=dict)
    apps = (web, EventsApp(lambda _events, _dropped: None, SystemClock()))
    started = [
        HttpServer(
            "127.0.0.1",
            0,
            app,
            refuse=app.refuse,
            body_bytes_max=64 * KB,
            urgent=HEALTH_PATHS if app is web else (),
        )
        for app in apps
    ]
    for each in started:
        each.start()
    return [each.port for each in started], logged_faults()


def take_http(data):
    """The first byte chooses the listener; the rest is sent at once, and then nothing more."""
    ports, faults = servers()
    with socket.create_connection(("127.0.0.1", ports[data[0] % 2 if data else 0]), PATIENCE_S) as connection:
        answer = bytearray()
        try:
            connection.sendall(data[1:])
            connection.shutdown(socket.SHUT_WR)
            while piece := connection.recv(64 * KB):
                answer += piece
        except ConnectionError:
            pass
    assert not answer or answer.startswith(b"HTTP/1."), answer[:100]
    assert not answer.startswith((b"HTTP/1.1 500", b"HTTP/1.0 500")), answer[:300]
    assert faults.found == []


def requests():
    body = posts()[0]
    post = b"POST /v1/events HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s"
    return [
        b"\0GET /metrics HTTP/1.1\r\nHost: h\r\nAccept-Encoding: gzip\r\n\r\nGET /readyz HTTP/1.1\r\nHost: h\r\n\r\n",
        b"\0GET /api/v1/groups/a%2Fb?limit=3 HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n",
        b"\0HEAD / HTTP/1.0\r\n\r\n",
        b"\1" + post % (len(body), body),
        b"\1POST /v1/events HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\n{}\n\r\n0\r\n\r\n",
        b"\1POST /v1/events HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 0\r\n%s: p1\r\n%s: 3\r\n\r\n" % HEADERS,
    ]


TARGETS = (Target("http", take_http, requests, WORDS, 2.0, 8 * MB, 400, 20 * KB, threaded=True),)
