"""schemathesis tests the API with its own OpenAPI document: every request gets a documented answer."""

from __future__ import annotations

import socket

import pytest
import schemathesis
from hypothesis import HealthCheck, settings

from rebalance_agent.http.connections.connection import Limits
from rebalance_agent.http.health import Readiness
from rebalance_agent.http.messages import Request
from rebalance_agent.http.server import HttpServer
from rebalance_agent.runtime.listeners.web import WebApp
from support.http.api import api_of
from support.http.asked import joined
from support.observer.views import full_view
from support.tracker.histories import clustered

EVENTS = clustered()
PLAIN = {"Accept-Encoding": "identity"}  # this client requests gzip, but cannot read it


def app():
    """The read-only listener with a group with a history, one with a hostile name, and one without data."""
    views = (full_view("g"), full_view('a/b?c=d&e <%>"\n'), full_view("poor", members=(), running=None))
    return WebApp((), Readiness(), api=api_of(*views, events=EVENTS)[0])


def wsgi(application):
    """The application as WSGI for schemathesis, without the listener's own bounds."""

    def asked(environ, start_response):
        headers = {name[5:].lower().replace("_", "-"): environ[name] for name in environ if name.startswith("HTTP_")}
        target = f"{environ['REQUEST_URI'].partition('?')[0]}?{environ['QUERY_STRING']}"
        answer = application(Request(environ["REQUEST_METHOD"], target, headers))
        start_response(answer.status, [("Content-Type", answer.content_type), *answer.headers])
        return [joined(answer.body)]

    return asked


schema = schemathesis.openapi.from_wsgi("/api/v1/openapi.json", wsgi(app()))


@schema.parametrize()
@settings(max_examples=60, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_every_request_has_a_documented_response(case):
    case.call_and_validate(headers=PLAIN)


@pytest.mark.parametrize(
    ("path", "names"),
    [
        ("/api/v1/groups/{group}", {"group": "g"}),
        ("/api/v1/groups/{group}/rebalances", {"group": "g"}),
        ("/api/v1/groups/{group}/rebalances/{id}", {"group": "g", "id": EVENTS[0].event_id}),
    ],
)
def test_existing_groups_are_among_the_tested_requests(path, names):
    """Random names match no group; these names are answered with 200."""
    case = schema[path]["GET"].Case(path_parameters=names)
    assert case.call_and_validate(headers=PLAIN).status_code == 200


@schema.parametrize()
@settings(max_examples=10, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
def test_every_request_with_a_missing_body_is_answered_at_once(listener, case):
    """Over a socket: the request announces a body that never arrives."""
    target = f"{case.formatted_path}?x=1".encode("ascii", "backslashreplace").replace(b" ", b"%20")
    method = case.method.upper().encode()
    with socket.create_connection(("127.0.0.1", listener), timeout=30) as client:
        client.sendall(method + b" " + target + b" HTTP/1.1\r\nHost: h\r\nContent-Length: 1000\r\n\r\n")
        assert client.recv(100).startswith((b"HTTP/1.1 4", b"HTTP/1.1 5")), target


@pytest.fixture(scope="module")
def listener():
    """The port of a listener that would wait for bodies without end."""
    web = app()
    server = HttpServer("127.0.0.1", 0, web, refuse=web.refuse, limits=Limits(body_seconds=1e6))
    server.start()
    yield server.port
    server.stop()
