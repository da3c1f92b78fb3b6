"""Measures the effect of one hostile client of a shared gateway on other clients and on the gateway's memory.

Each attack runs alone, and then all attacks run together, each in its own process. Another client reads a small record
repeatedly, in turn through the gateway and directly from the broker, with a new connection for each read. The direct
reads show how much the attack slows down the whole machine.
"""

from __future__ import annotations

import contextlib
import random
import socket
import struct
import sys
from collections.abc import Callable, Sequence
from time import perf_counter, sleep
from typing import NamedTuple

from bench.attackers import attackers
from bench.gateway.gateway_clients import FETCH_BYTES, call_seconds, connected, fetch
from bench.gateway.throughput import BULK, SMALL, fill, gateway
from bench.measure import percentile, table
from rebalance_agent.testing import EmbeddedKafka

__all__ = ["ATTACKS", "Beside", "beside"]

SAMPLES = 400
PAUSE_S = 0.02
SETTLING_S = 2.0
CALL_S = 30.0
"""Seconds without data after which a read fails."""

OPEN_MAX = 500
NEW_A_SECOND = 100
CLIENT_IDS = 10_000
ADDRESS = "127.0.0.2"
"""Address of the hostile client. A gateway accepts from one address at most half of its maximum of connections."""
FRAME_BYTES = 2**20
"""Bytes of a huge request. A broker allocates a whole request when it begins, with or without a gateway: larger
requests would use up the memory of a small broker."""

_HEAD = struct.Struct(">ihhih")
API_VERSIONS, LIST_OFFSETS, JOIN_GROUP = 18, 2, 11


def _request(api_key: int, version: int, client_id: bytes, body: bytes = b"", size: int = 0) -> bytes:
    """Encode a request with its length, or with the false length ``size`` if that is not 0."""
    length = size or _HEAD.size - 4 + len(client_id) + len(body)
    return _HEAD.pack(length, api_key, version, 1, len(client_id)) + client_id + body


class _Attacker:
    """The connections of a hostile client. Beyond `OPEN_MAX`, the oldest connection is closed."""

    def __init__(self, port: int, seed: int) -> None:
        self.port, self.chance, self._open = port, random.Random(seed), list[socket.socket]()

    def send(self, connection: socket.socket, data: bytes) -> None:
        """Send as much as the connection accepts; drop a connection that the gateway has closed."""
        try:
            connection.send(data)
        except BlockingIOError:
            pass
        except OSError:
            connection.close()
            self._open.remove(connection)

    def connect(self) -> socket.socket:
        if len(self._open) >= OPEN_MAX:
            self._open.pop(0).close()
        self._open.append(socket.create_connection(("127.0.0.1", self.port), 10, source_address=(ADDRESS, 0)))
        self._open[-1].setblocking(False)
        return self._open[-1]

    def any(self) -> socket.socket:
        return self.chance.choice(self._open) if len(self._open) >= NEW_A_SECOND else self.connect()


def _connections(attacker: _Attacker) -> None:
    attacker.connect()


def _half_requests(attacker: _Attacker) -> None:
    attacker.send(attacker.connect(), _request(API_VERSIONS, 0, b"half", size=1_000))


def _huge_frames(attacker: _Attacker) -> None:
    attacker.send(attacker.any(), _request(LIST_OFFSETS, 5, b"huge", size=FRAME_BYTES) + bytes(2**18))


def _slow_readers(attacker: _Attacker) -> None:
    attacker.send(attacker.any(), fetch(BULK, 0, FETCH_BYTES))


def _client_ids(attacker: _Attacker) -> None:
    name = f"client-{attacker.chance.randrange(CLIENT_IDS):05}".ljust(200, "x").encode()
    attacker.send(attacker.connect(), _request(API_VERSIONS, 0, name))


def _malformed(attacker: _Attacker) -> None:
    body = attacker.chance.randbytes(attacker.chance.randrange(500))
    attacker.send(attacker.connect(), _request(JOIN_GROUP, attacker.chance.randrange(10), b"malformed", body))


class Attack(NamedTuple):
    """A kind of attack. ``step`` runs ``rate`` times a second."""

    text: str
    rate: float
    step: Callable[[_Attacker], None]


ATTACKS = {
    "connections": Attack("100 new connections a second without a request, 500 at once", NEW_A_SECOND, _connections),
    "half-requests": Attack("the same with a part of a request", NEW_A_SECOND, _half_requests),
    "huge-frames": Attack("100 connections with requests of 1 MiB, in pieces of 256 KiB", 40, _huge_frames),
    "slow-readers": Attack("requests of 1 MiB of records that are not read", 200, _slow_readers),
    "client-ids": Attack("10,000 client ids of 200 characters", 200, _client_ids),
    "malformed": Attack("JoinGroup requests of random bytes", 200, _malformed),
}


class Beside(NamedTuple):
    """Milliseconds of the other client's reads, directly and through the gateway, and the gateway's peak memory."""

    direct_ms: Sequence[float]
    through_ms: Sequence[float]
    peak_mib: float


def main(scale: float = 1.0) -> None:
    """Print the table."""
    samples, rows = max(20, round(SAMPLES * scale)), []
    for name in ("none", *ATTACKS, "all"):
        found = beside({"none": (), "all": tuple(ATTACKS)}.get(name, (name,)), samples)
        direct, through = percentile(found.direct_ms, 0.95), percentile(found.through_ms, 0.95)
        rows.append((name, direct, through, 2 * direct + 100, max(found.through_ms), found.peak_mib))
        print(f"  {rows[-1]}", file=sys.stderr, flush=True)
    table(("attack", "direct p95 ms", "through p95 ms", "goal", "through max ms", "peak MiB"), rows)


def beside(kinds: Sequence[str], samples: int, seed: int = 1) -> Beside:
    """Read ``samples`` times over each path during the attacks.

    Raises:
        OSError: a read of the other client failed.
    """
    with EmbeddedKafka() as kafka, gateway(kafka.bootstrap_servers) as way:
        fill(kafka.bootstrap_servers)
        port = int(kafka.bootstrap_servers.rpartition(":")[2])
        asked, buffer = fetch(SMALL, 0, FETCH_BYTES), bytearray(2 * FETCH_BYTES)
        with attackers("bench.gateway.hostile", str(way.port), kinds, seed):
            sleep(SETTLING_S)
            times = {port: [], way.port: []}  # type: dict[int, list[float]]
            for _ in range(samples):
                for each, took in times.items():
                    begun = perf_counter()
                    # Each read has a new connection, to show that a client that connects during an attack is served.
                    with connected(each, 1) as [connection]:
                        connection.settimeout(CALL_S)
                        call_seconds(connection, asked, buffer)
                        took.append(1_000 * (perf_counter() - begun))
                sleep(PAUSE_S)
            return Beside(times[port], times[way.port], way.resident_mib_max())


def attack(port: int, kind: str, seed: int) -> None:
    """Attack the gateway at the rate of the attack, until the process is killed."""
    attacker, chosen = _Attacker(port, seed), ATTACKS[kind]
    while True:
        # Connections that the gateway closed, or that accept no more bytes, are part of the attack.
        with contextlib.suppress(OSError):
            chosen.step(attacker)
        sleep(1 / chosen.rate)


if __name__ == "__main__":
    attack(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
