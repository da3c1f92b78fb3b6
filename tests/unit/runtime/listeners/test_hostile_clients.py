"""With more blocking clients than a listener has slots, health, scrapes and posts are still answered."""

from __future__ import annotations

import dataclasses
import http.client
import itertools
import socket
import ssl
from contextlib import ExitStack, suppress

import pytest

from rebalance_agent.http import server as http_server
from rebalance_agent.http.connections.connection import Limits
from rebalance_agent.http.events_post import EVENTS_PATH
from rebalance_agent.model.event_json import json_line
from rebalance_agent.runtime.listeners import configured_listeners
from rebalance_agent.runtime.listeners.web import HEALTH_PATHS
from rebalance_agent.runtime.processes.sidecar import Sidecar
from rebalance_agent.runtime.settings.roles import SidecarSettings
from support.kafka.certificates import Authority, needs_openssl
from support.observer.views import member_event

MORE = 50
"""Number of clients beyond a listener's slots."""

TLS_PLACES = 64
"""Slots of the listener. TLS handshakes take most of the time, and four times as many clients would show the same."""

TOKEN = "t" * 16
POST = b"POST /v1/events HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n"
AUTHORIZED = f"Authorization: Bearer {TOKEN}\r\n".encode()
BODY = json_line(member_event()) + b"\n"

SAID = {
    "nothing": b"",
    "half a head": b"GET /metrics HTTP/1.1\r\nHost: h\r\n",
    "no body": POST + b"\r\n",
    "no body, with the token": POST + AUTHORIZED + b"\r\n",
    "half a body, with the token": POST + AUTHORIZED + b"\r\n" + b"x" * 500,
    "no chunk": b"POST /v1/events HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n",
    "health's body": b"GET /healthz HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n",
    "a scrape's body": b"GET /metrics HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n",
    "half a handshake": b"\x16\x03\x01\x02\x00\x01",
}


@pytest.fixture(scope="module")
def authority(tmp_path_factory):
    return Authority(tmp_path_factory.mktemp("authority"))


@pytest.fixture(params=["plain", "token", "tls"])
def sidecar(request, authority, tmp_path, monkeypatch):
    """A sidecar's two listeners, the ways to connect to them, and more clients than each has slots."""
    settings, context, places = {}, None, Limits().connections
    if request.param == "token":
        held = tmp_path / "token"
        held.write_text(TOKEN)
        settings = {"web_token_file": str(held), "events_token_file": str(held)}
    if request.param == "tls":
        places = TLS_PLACES
        events = dataclasses.replace(configured_listeners.EVENTS_LIMITS, connections=places)
        monkeypatch.setattr(http_server, "Limits", lambda: Limits(connections=places))
        monkeypatch.setattr(configured_listeners, "EVENTS_LIMITS", events)
        own = authority.issue("sidecar")
        settings = {
            f"{prefix}_{name}_file": str(file)
            for prefix in ("tls", "events_tls")
            for name, file in (("cert", own.chain), ("key", own.key))
        }
        context = ssl.create_default_context(cafile=authority.certificate.chain)
    made = Sidecar(SidecarSettings(listen="127.0.0.1:0", events_listen="127.0.0.1:0", **settings), {})
    with ExitStack() as stack:
        for server in (made._web, made._events):
            server.start()
            stack.callback(server.stop)
        yield made, context, places + MORE


def _ask(port, context, method, path, body=None):
    """The status, from a new connection."""
    kind = http.client.HTTPSConnection if context else http.client.HTTPConnection
    connection = kind("127.0.0.1", port, timeout=30, **({"context": context} if context else {}))
    try:
        connection.request(method, path, body, {"Authorization": f"Bearer {TOKEN}"})
        answer = connection.getresponse()
        answer.read()
        return answer.status
    finally:
        connection.close()


def _hold(stack, port, context, said, number):
    for _ in range(number):
        client = stack.enter_context(socket.create_connection(("127.0.0.1", port), timeout=30))
        if context and said and said[0] != 0x16:
            client = stack.enter_context(context.wrap_socket(client, server_hostname="127.0.0.1"))
        with suppress(OSError):  # the server may have closed it already
            client.sendall(said)
        yield client


def _served(sidecar, context):
    web, events = sidecar._web.port, sidecar._events.port
    alive, ready, consumers, metrics = [_ask(web, context, "GET", path) for path in (*HEALTH_PATHS, "/metrics")]
    assert (alive, ready, metrics) == (200, 200, 200)
    assert consumers in (200, 503)  # whether one has posted its assignment yet
    assert _ask(events, context, "POST", EVENTS_PATH, BODY) == 200


@needs_openssl
@pytest.mark.parametrize("said", SAID.values(), ids=SAID)
def test_blocking_clients_do_not_prevent_service_for_others(sidecar, said):
    made, context, held = sidecar
    with ExitStack() as stack:
        web = _hold(stack, made._web.port, context, said, held)
        events = _hold(stack, made._events.port, context, said, held)
        for number, _ in enumerate(zip(web, events, strict=True)):
            if number % 50 == 0:
                _served(made, context)
        _served(made, context)


@needs_openssl
def test_trickling_and_reconnecting_clients_do_not_prevent_service_for_others(sidecar):
    """One byte per client at a time; a closed client reconnects at once."""
    made, context, _ = sidecar
    with ExitStack() as stack:
        for port in (made._web.port, made._events.port):
            clients = list(_hold(stack, port, context, POST + AUTHORIZED + b"\r\n", 100))
            again = itertools.cycle(_hold(stack, port, context, SAID["half a head"], 200))
            for number, client in enumerate(clients):
                with suppress(OSError):
                    client.sendall(b"x")
                next(again)
                if number % 25 == 0:
                    _served(made, context)


@needs_openssl
def test_clients_that_do_not_read_do_not_prevent_service_for_others(sidecar):
    made, context, _ = sidecar
    page, usual = b"# HELP a b\n" * 100_000, made._web._app
    usual._pages = (lambda _dialect: page,)
    with ExitStack() as stack:
        request = b"GET /metrics HTTP/1.1\r\nHost: h\r\n" + AUTHORIZED + b"\r\n"
        for number, _ in enumerate(_hold(stack, made._web.port, context, request, 100)):
            if number % 25 == 0:
                _served(made, context)
        _served(made, context)
