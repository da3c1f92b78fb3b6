"""Forwards TCP connections to a broker with little work: threads copy the bytes."""

from __future__ import annotations

import socket
import sys
import threading


def pump(source: socket.socket, target: socket.socket) -> None:
    """Copy bytes until the end of the stream."""
    buffer = bytearray(256 * 1024)
    try:
        while size := source.recv_into(buffer):
            target.sendall(memoryview(buffer)[:size])
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass


def main() -> None:
    """Listen on a free port, print it, and forward every connection to ``host port``."""
    host, port = sys.argv[1:]
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        print(listener.getsockname()[1], flush=True)
        while True:
            client, _ = listener.accept()
            broker = socket.create_connection((host, int(port)))
            for each in (client, broker):
                each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for ends in ((client, broker), (broker, client)):
                threading.Thread(target=pump, args=ends, daemon=True).start()


if __name__ == "__main__":
    main()
