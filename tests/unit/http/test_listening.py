"""Addresses of both families: `[::]` is for pods that have IPv6, alone or beside IPv4."""

import socket
import urllib.request

import pytest

from rebalance_agent.http.health import Readiness
from rebalance_agent.http.server import HttpServer
from rebalance_agent.runtime.listeners.web import WebApp


@pytest.fixture
def both():
    if not socket.has_dualstack_ipv6():
        pytest.skip("this machine has no IPv6")
    server = HttpServer("::", 0, WebApp((lambda _dialect: b"",), Readiness()))
    server.start()
    yield server
    server.stop()


@pytest.mark.parametrize("host", ["[::1]", "127.0.0.1"])
def test_an_ipv6_listener_also_accepts_ipv4(both, host):
    straight = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with straight.open(f"http://{host}:{both.port}/healthz", timeout=10) as answer:
        assert answer.status == 200
