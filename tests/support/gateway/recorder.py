"""A proxy in front of a broker that records all bytes of every connection."""

from __future__ import annotations

import contextlib
import socket
import threading

from support.observer.observing import PATIENCE_S, eventually

__all__ = ["Recorded", "Recorder"]

BYTES = 65_536


class Recorded:
    """One connection: ``came`` are the requests, ``went`` the answers; complete after `ended`."""

    def __init__(self, client, broker):
        self.came, self.went = bytearray(), bytearray()
        ways = ((client, broker, self.came), (broker, client, self.went))
        self._threads = [threading.Thread(target=self._pump, args=way, daemon=True) for way in ways]
        for each in self._threads:
            each.start()

    def ended(self):
        """Wait until both directions have ended; return the connection."""
        for each in self._threads:
            each.join(PATIENCE_S)
            assert not each.is_alive()
        return self

    @staticmethod
    def _pump(source, target, kept):
        with contextlib.suppress(OSError):
            while data := source.recv(BYTES):
                kept += data
                target.sendall(data)
        for one, way in ((target, socket.SHUT_WR), (source, socket.SHUT_RD)):
            with contextlib.suppress(OSError):
                one.shutdown(way)


class Recorder:
    """Listens at ``address`` inside its ``with``."""

    def __init__(self, broker):
        host, _, port = broker.rpartition(":")
        self._broker, self._connections, self._sockets = (host, int(port)), [], []

    def __enter__(self):
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(PATIENCE_S)
        self._listener.close()
        for each in self._sockets:
            each.close()

    def __len__(self):
        """The number of connections so far."""
        return len(self._connections)

    def connection(self, number):
        """The connection of that number (from 0), after its end."""
        eventually(lambda: len(self) > number)
        return self._connections[number].ended()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                broker = socket.create_connection(self._broker)
                self._sockets += [client, broker]
                self._connections.append(Recorded(client, broker))
