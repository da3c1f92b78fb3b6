"""A server in a sidecar's place that answers a reporter's post with ``100 Continue`` without end."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator
from time import perf_counter, thread_time

from bench.replayed.posting import claim
from bench.replayed.replayed_row import ReplayedRow
from rebalance_agent.instrumentation.delivery.endpoint import Endpoint
from rebalance_agent.instrumentation.delivery.outbox import Batch

__all__ = ["endless_answers"]

CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


def endless_answers(_: float) -> Iterator[ReplayedRow]:
    """Finding 10: the thread that sends a consumer's events reads the answers until its deadline."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        answering = threading.Thread(target=_answer, args=(listener,))
        answering.start()
        begun, cpu = perf_counter(), thread_time()
        endpoint = Endpoint.of(f"http://127.0.0.1:{listener.getsockname()[1]}", environ={})
        assert endpoint is not None
        outcome = endpoint.post(Batch(claim(1), 1, 0)).outcome
        seconds, used = perf_counter() - begun, thread_time() - cpu
        answering.join()
    now = f"{seconds:.1f} s, {used:.2f} CPU-s of its thread ({outcome.value})"
    yield ReplayedRow(10, "100 Continue without end", "one post", "no end, 0.76 CPU-s in 8 s", now)


def _answer(listener: socket.socket) -> None:
    client, _ = listener.accept()
    with client, contextlib.suppress(OSError):
        while True:
            client.sendall(CONTINUE)
