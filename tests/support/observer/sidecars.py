"""Sidecars in different states: working, failing, silent and absent."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Self


class Sidecar:
    """Accepts posts at ``url``, and stores them; responds with the statuses of ``script``, then with 204."""

    def __init__(self, *script: int) -> None:
        self.bodies: list[bytes] = []
        self.headers: list[dict[str, str]] = []
        self.taken: list[dict[str, object]] = []
        self.changed = threading.Condition()
        script_left = list(script)
        sidecar = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                with sidecar.changed:
                    status = script_left.pop(0) if script_left else 204
                    sidecar.bodies.append(body)
                    sidecar.headers.append({name.lower(): value for name, value in self.headers.items()})
                    if status < 300:
                        sidecar.taken += [json.loads(line) for line in body.splitlines()]
                    sidecar.changed.notify_all()
                self.send_response(status)
                self.end_headers()

            def log_message(self, *_arguments: object) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/v1/events"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def wait_for(self, condition, timeout: float = 20.0) -> bool:
        """Wait until ``condition(taken)`` holds."""
        with self.changed:
            return self.changed.wait_for(lambda: condition(self.taken), timeout)


def reported(sidecar: Sidecar, **fields: object) -> list[dict[str, object]]:
    """Accepted events with these fields, in the order of their arrival."""
    with sidecar.changed:
        return [event for event in sidecar.taken if all(event.get(name) == value for name, value in fields.items())]


def arrives(sidecar: Sidecar, number: int = 1, **fields: object) -> list[dict[str, object]]:
    """Wait until ``number`` events with these fields have arrived; return all of them."""
    assert sidecar.wait_for(lambda _: len(reported(sidecar, **fields)) >= number), (fields, sidecar.taken)
    return reported(sidecar, **fields)


class SilentSidecar:
    """Accepts every connection, but neither reads nor answers."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1/events"
        self.accepted = threading.Event()
        self._held: list[socket.socket] = []
        self._thread = threading.Thread(target=self._accept)

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                held, _ = self._listener.accept()
                self._held.append(held)
                self.accepted.set()

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_exception: object) -> None:
        with contextlib.suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join()
        self._listener.close()
        for held in self._held:
            held.close()


@contextlib.contextmanager
def answering(answer: bytes) -> Iterator[str]:
    """A server that answers every connection with these bytes and closes it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    connection, _ = listener.accept()
                    with connection:
                        connection.recv(1_000_000)
                        connection.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1/events"
        listener.shutdown(socket.SHUT_RDWR)
        thread.join()


@contextlib.contextmanager
def absent() -> Iterator[str]:
    """An address without a listener: connections are refused."""
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        yield f"http://127.0.0.1:{bound.getsockname()[1]}/v1/events"
