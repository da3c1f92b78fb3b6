"""HTTP servers that tests start on loopback."""

from __future__ import annotations

import contextlib
import json
import subprocess
import threading
import urllib.request
from collections.abc import Callable, Iterator, Mapping, Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Self

from rebalance_agent.clock import SystemClock

READY_SECONDS_MAX = 90

LOOPBACK = urllib.request.build_opener(urllib.request.ProxyHandler({}))
"""An opener without a proxy: no proxy can reach our own ports."""


class Server:
    """A process in ``folder`` that answers ``/-/ready`` below ``url`` and writes to ``log``. Use it in a ``with``."""

    def __init__(self, command: Sequence[str], url: str, log: Path, folder: Path | None = None):
        self.url = url
        self._command = list(command)
        self._log = log
        self._folder = folder

    def __enter__(self) -> Self:
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command, stdout=log, stderr=log, cwd=self._folder, start_new_session=True
            )
        try:
            self._await_ready()
        except BaseException:
            self.__exit__()
            raise
        return self

    def _await_ready(self) -> None:
        clock, pause = SystemClock(), threading.Event()
        end = clock.monotonic() + READY_SECONDS_MAX
        while not self._ready():
            assert self._process.poll() is None, self._log.read_text()
            assert clock.monotonic() < end, f"{self._command[0]} does not get ready"
            pause.wait(0.05)

    def _ready(self) -> bool:
        with contextlib.suppress(OSError), LOOPBACK.open(f"{self.url}/-/ready", timeout=5) as answer:
            return bool(answer.status == HTTPStatus.OK)
        return False

    def __exit__(self, *_reason: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextlib.contextmanager
def answering_posts(answer: Callable[[Mapping[str, str], bytes], tuple[int, object]]) -> Iterator[str]:
    """A server in this process; yields its URL. ``answer``: headers and body of a POST -> status and JSON."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status, value = answer(self.headers, self.rfile.read(int(self.headers["Content-Length"])))
            body = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/token"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
