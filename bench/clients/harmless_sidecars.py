"""Runs sidecars for `bench.clients.harmless`, and yields their URLs: one works, one hangs, one fails."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import perf_counter, sleep
from urllib.request import urlopen

from rebalance_agent.testing.kafka.broker_settings import free_ports

PATIENCE_S = 60.0


def url(port: int) -> str:
    return f"http://127.0.0.1:{port}/v1/events"


@contextlib.contextmanager
def working(bootstrap: str) -> Iterator[str]:
    """Run a sidecar with its command, as users do; it publishes to the broker. Yield its URL."""
    web, events = free_ports(2)
    command = [sys.executable, "-m", "rebalance_agent.cli.main", "sidecar", "--bootstrap-servers", bootstrap]
    listening = ("--listen", f"127.0.0.1:{web}", "--events-listen", f"127.0.0.1:{events}", "--log-level", "error")
    process = subprocess.Popen([*command, *listening])
    try:
        _wait(lambda: _answers(f"http://127.0.0.1:{web}/readyz"))
        yield url(events)
    finally:
        process.terminate()
        process.wait(30)


def _answers(address: str) -> bool:
    try:
        with urlopen(address, timeout=5) as answer:
            return bool(answer.status == 200)
    except OSError:
        return False


def _wait(condition: Callable[[], bool]) -> None:
    end = perf_counter() + PATIENCE_S
    while not condition():
        if perf_counter() > end:
            raise SystemExit("the sidecar does not become ready")
        sleep(0.1)


@contextlib.contextmanager
def hanging() -> Iterator[str]:
    """Yield the URL of a socket that only listens: it accepts connections and data, and never responds."""
    with socket.create_server(("127.0.0.1", 0), backlog=1_000) as listener:
        yield url(listener.getsockname()[1])


class _Fails(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(500)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *arguments: object) -> None: ...


@contextlib.contextmanager
def failing() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), _Fails) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
        thread.start()
        try:
            yield url(server.server_port)
        finally:
            server.shutdown()
            thread.join()
