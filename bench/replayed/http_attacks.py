"""Attacks on listeners: bodies that never come, large posts at once, and a token file that becomes a FIFO."""

from __future__ import annotations

import contextlib
import http.client
import os
import socket
import subprocess
import tempfile
import threading
import urllib.error
import urllib.request
from collections import Counter, deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from time import monotonic, sleep

from bench.observer.observing import PATIENCE_S, STOP_S, agent
from bench.replayed.posting import claim, post
from bench.replayed.replayed_row import ReplayedRow
from rebalance_agent.http.reloaded_files import LOOK_AGAIN_S
from rebalance_agent.testing.kafka.broker_settings import free_ports

__all__ = ["fifo_tokens", "large_posts", "missing_bodies"]

TOKEN = "t" * 32
PROBES, PROBE_EVERY_S = 70, 0.4
UNFINISHED = b"POST /v1/events HTTP/1.1\r\nHost: h\r\nContent-Length: 9999\r\n\r\n"
OPEN_MAX = 800
"""Connections that the attack keeps open; this process may have some 1,000 descriptors."""

POSTS, CLAIMS_A_POST = 16, 10


def missing_bodies(scale: float) -> Iterator[ReplayedRow]:
    """Finding 5: many connections a second whose body never comes, and probes of health beside them."""
    with tempfile.NamedTemporaryFile("w", suffix=".token") as file:
        file.write(TOKEN)
        file.flush()
        variants = ((60, (), 70, "14 of 70"), (25, ("--web-token-file", file.name), 30, "24 of 30"))
        for rate, flags, probes, before in (*variants, (200, (), 40, "12 of 40")):
            number = max(1, round(probes * scale))
            with agent("observe", "--idle", *flags) as watching:
                watching.wait(watching.ready, PATIENCE_S)
                with _unfinished(watching.port, rate):
                    answered = sum(_healthy(watching.port) for _ in range(number))
            attack = f"{rate} connections a second" + (", with web_token_file" if flags else "")
            yield ReplayedRow(5, attack, "answered probes of /healthz", before, f"{answered} of {number}")


@contextlib.contextmanager
def _unfinished(port: int, rate: int) -> Iterator[None]:
    """Open ``rate`` connections a second that send the head of a post, and keep the newest of them open."""
    over = threading.Event()

    def attack() -> None:
        kept: deque[socket.socket] = deque()
        while not over.wait(1 / rate):
            with contextlib.suppress(OSError):
                kept.append(socket.create_connection(("127.0.0.1", port), 1))
                kept[-1].sendall(UNFINISHED)
            if len(kept) > OPEN_MAX:
                kept.popleft().close()
        for each in kept:
            each.close()

    thread = threading.Thread(target=attack)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def _healthy(port: int) -> bool:
    sleep(PROBE_EVERY_S)
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=10) as answer:
            return bool(answer.status == http.HTTPStatus.OK)
    except (OSError, http.client.HTTPException):
        return False


def large_posts(scale: float) -> Iterator[ReplayedRow]:
    """Finding 6: posts of 3 kB at once, each of which claims 1,000,000 partitions; refused ones are repeated."""
    posts = max(1, round(POSTS * scale))
    bodies = [[claim(number * CLAIMS_A_POST + each) for each in range(CLAIMS_A_POST)] for number in range(posts)]
    sidecar = ("sidecar", "sidecar", (), "700 - 860 MiB", "8 CPU-s")
    observer = ("observer", "observe", ("--idle",), "693 MiB", "-")
    for name, role, flags, memory, cost in (sidecar, observer):
        (port,) = free_ports(1)
        with agent(role, "--events-listen", f"127.0.0.1:{port}", *flags) as running:
            running.wait(running.ready, PATIENCE_S)
            cpu, attack = running.cpu_seconds(), f"{posts} posts of 1,000,000 partitions at once"
            left, statuses = bodies, Counter[int]()
            while left:
                with ThreadPoolExecutor(len(left)) as pool:
                    found = list(pool.map(lambda lines, to=port: post(to, lines), left))
                statuses += Counter(found)
                left = [
                    lines
                    for lines, status in zip(left, found, strict=True)
                    if status == http.HTTPStatus.TOO_MANY_REQUESTS
                ]
                sleep(1)
            yield ReplayedRow(6, attack, f"{name}, peak", memory, f"{running.peak_mib():.0f} MiB")
            used = f"{running.cpu_seconds() - cpu:.1f} CPU-s for {_counted(statuses)}"
            yield ReplayedRow(6, attack, f"{name}, cost of all posts", cost, used)


def _counted(statuses: Counter[int]) -> str:
    return ", ".join(f"{number} x {status}" for status, number in sorted(statuses.items()))


def fifo_tokens(_: float) -> Iterator[ReplayedRow]:
    """Finding 12: the file of the token becomes a FIFO that nothing writes to."""
    (port,) = free_ports(1)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "token")
        path.write_text(TOKEN, encoding="ascii")
        flags = ("--events-listen", f"127.0.0.1:{port}", "--events-token-file", str(path))
        with agent("sidecar", *flags) as sidecar:
            sidecar.wait(sidecar.ready, PATIENCE_S)
            path.unlink()
            os.mkfifo(path)
            sleep(2 * LOOK_AGAIN_S)
            try:
                answer = f"status {post(port, [claim(1)], 10.0, TOKEN)}"
            except OSError as error:
                answer = f"no answer: {error}"
            yield ReplayedRow(12, "the token file is a FIFO", "a post", "no answer", answer)
            begun = monotonic()
            sidecar.process.terminate()
            try:
                sidecar.process.wait(STOP_S)
                ended = f"{monotonic() - begun:.1f} s"
            except subprocess.TimeoutExpired:
                ended = f"more than {STOP_S:.0f} s"
            yield ReplayedRow(12, "the token file is a FIFO", "from SIGTERM to the end", "more than 40 s", ended)
