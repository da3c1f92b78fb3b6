"""An HTTP server that answers with any bytes, at any speed."""

from __future__ import annotations

import socket
import threading

__all__ = ["OK", "RudeServer"]

HEAD_END = b"\r\n\r\n"
OK = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n"


class RudeServer:
    """Answers each request with the bytes of ``answers``, with ``pause_s`` between them. A context manager.

    ``end``: the last bytes of each request: its head's, or its body.
    """

    def __init__(self, *answers, pause_s=0.0, end=HEAD_END):
        self._end = end
        self.answers, self.pause_s, self.sent, self.connections, self.requests = answers, pause_s, 0, 0, 0
        self._never = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/"

    def __enter__(self):
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *_error):
        self._listener.close()

    def _serve(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._answer, args=[connection], daemon=True).start()

    def _answer(self, connection):
        with connection:
            try:
                came = b""
                while data := connection.recv(65536):
                    came += data
                    if not came.endswith(self._end):
                        continue
                    came, self.requests = b"", self.requests + 1
                    for part in self.answers:
                        connection.sendall(part)
                        self.sent += len(part)
                        self._never.wait(self.pause_s)
            except OSError:
                return
