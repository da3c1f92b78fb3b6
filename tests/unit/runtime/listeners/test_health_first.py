"""Health checks are answered under any load of a role's listener."""

from __future__ import annotations

import socket
import threading
from contextlib import ExitStack

import pytest

from rebalance_agent.http.connections.connection import Limits
from rebalance_agent.runtime.listeners.web import HEALTH_PATHS
from rebalance_agent.runtime.processes.observer import Observer
from rebalance_agent.runtime.processes.sidecar import Sidecar
from rebalance_agent.runtime.settings.roles import ObserverSettings, SidecarSettings
from support.observer.observing import http

WAITING = 10
"""Requests that wait while all workers are busy."""


def _observers():
    return Observer(ObserverSettings(listen="127.0.0.1:0", idle=True), {})._server


def _sidecars():
    """Also for a gateway."""
    return Sidecar(SidecarSettings(listen="127.0.0.1:0", events_listen="127.0.0.1:0"), {})._web


@pytest.mark.parametrize(("made", "of_consumers"), [(_observers, 404), (_sidecars, 503)])
def test_health_does_not_wait_for_other_pages_and_requests_that_wait_for_a_worker(made, of_consumers):
    server = made()
    usual, entered, over = server._app, threading.Semaphore(0), threading.Event()

    def app(request):
        if request.path not in HEALTH_PATHS:
            entered.release()
            over.wait()
        return usual(request)

    server._app = app
    with ExitStack() as stack:
        server.start()
        stack.callback(server.stop)
        stack.callback(over.set)
        for _ in range(Limits().workers):
            busy = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            busy.sendall(b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n")
            assert entered.acquire(timeout=30)
        for _ in range(WAITING):
            waiting = stack.enter_context(socket.create_connection(("127.0.0.1", server.port)))
            waiting.sendall(b"GET /metrics HTTP/1.1\r\nHost: h\r\n\r\n")
        assert [http(f"http://127.0.0.1:{server.port}{path}")[0] for path in HEALTH_PATHS] == [
            200,
            200,
            of_consumers,
        ]
