"""A broker with answers from a test, clients that send plain frames, and a gateway between them."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import socket
import struct

from rebalance_agent.clock import SystemClock
from rebalance_agent.gateway.gateway_counters import GatewayCounters
from rebalance_agent.gateway.gateway_server import Gateway, ListenAddresses
from rebalance_agent.gateway.telemetry.telemetry_clients import TelemetryClients
from support.observer.scrapes import families

__all__ = [
    "HEARTBEAT",
    "PATIENCE_S",
    "Client",
    "End",
    "NoGroups",
    "RawBroker",
    "ReadsHeartbeats",
    "Reported",
    "Reset",
    "answer_of",
    "eventually",
    "frame_of",
    "open_connections",
    "refused",
    "request",
    "reset",
    "run",
    "through",
]

LENGTH = struct.Struct(">i")
PATIENCE_S = 20
HEARTBEAT = 12


def request(api_key, version, correlation_id, body=b"", client_id="app"):
    """A request with a header of version 1."""
    name = client_id.encode()
    return struct.pack(f">hhih{len(name)}s", api_key, version, correlation_id, len(name), name) + body


def frame_of(data):
    return LENGTH.pack(len(data)) + data


def reset(writer):
    """Break the connection with RST."""
    on_no_seconds = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, on_no_seconds)
    writer.transport.abort()


class Reset(Exception):  # noqa: N818 - a test's response
    """Break the connection."""


class End(Exception):  # noqa: N818
    """Close the connection after the answer."""


class RawBroker:
    """Keeps all received bytes; ``answer(frame)`` returns the answer's frame, or None for none."""

    def __init__(self, answer=None):
        self.answer = answer or (lambda frame: frame[4:8] + b"answer to " + frame)
        self.came = bytearray()
        self.connections = 0
        self.ended = asyncio.Event()
        self.reading = asyncio.Event()
        self.reading.set()
        self.writers = []

    async def start(self, **options):
        self.server = await asyncio.start_server(self._serve, "127.0.0.1", 0, **options)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def stop(self):
        self.server.close()
        for writer in self.writers:
            writer.close()

    async def _serve(self, reader, writer):
        self.connections += 1
        self.writers.append(writer)
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            try:
                while True:
                    await self.reading.wait()
                    length = await reader.readexactly(4)
                    frame = await reader.readexactly(LENGTH.unpack(length)[0])
                    self.came += length + frame
                    if (answer := self.answer(frame)) is not None:
                        writer.write(frame_of(answer))
                        await writer.drain()
            except Reset:
                reset(writer)
            except End:
                writer.write_eof()
        self.ended.set()
        writer.close()


class Client:
    """One connection."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    @classmethod
    async def connect(cls, port, **options):
        return cls(*await asyncio.open_connection("127.0.0.1", port, **options))

    async def send(self, *frames):
        self.writer.write(b"".join(map(frame_of, frames)))
        await self.writer.drain()

    async def receive(self):
        async with asyncio.timeout(PATIENCE_S):
            (length,) = LENGTH.unpack(await self.reader.readexactly(4))
            return await self.reader.readexactly(length)

    async def ended(self):
        """The bytes up to the end of the connection, and whether it was reset."""
        async with asyncio.timeout(PATIENCE_S):
            try:
                return await self.reader.read(), False
            except ConnectionError:
                return b"", True

    async def close(self):
        self.writer.close()
        with contextlib.suppress(ConnectionError):
            await self.writer.wait_closed()


class NoGroups:
    """Group code that changes nothing; tests override its methods."""

    member = None

    def connected(self, line):
        pass

    def greeted(self, name, software):
        pass

    def pushed(self, member, maxima):
        pass

    async def client_ended(self):
        pass

    def wants(self, head):
        return False

    def observes(self, head):
        return False

    def wants_answer(self, head):
        return False

    async def request(self, head, frame, ask):
        return frame

    def response(self, head, frame):
        return frame

    def closed(self):
        pass


class ReadsHeartbeats(NoGroups):
    """Reads every heartbeat."""

    def wants(self, head):
        return head.api_key == HEARTBEAT


class Reported:
    """A readiness that keeps the reports: part -> its reason, None if it is ready."""

    def __init__(self):
        self.parts = {}

    def ready(self, part):
        self.parts[part] = None

    def unready(self, part, reason):
        self.parts[part] = reason

    busy = unready


@contextlib.asynccontextmanager
async def through(*brokers, groups=NoGroups, clock=None, telemetry_s=0, **changes):
    """A gateway whose bootstrap servers are the ports ``brokers``; ``telemetry_s``: seconds between two pushes."""
    counts, health, clock = GatewayCounters(), Reported(), clock or SystemClock()
    places = {
        "bootstrap": tuple(("127.0.0.1", port) for port in brokers),
        "listen": ("127.0.0.1", 0),
        "advertised": "127.0.0.1",
        "port_base": 0,
    }
    telemetry = TelemetryClients(clock, telemetry_s, counts.push_ended)
    gateway = Gateway(ListenAddresses(**places | changes), groups, counts, health, clock, telemetry)
    await gateway.start()
    gateway.telemetry = telemetry
    gateway.counts, gateway.health = counts, health
    try:
        yield gateway
    finally:
        await gateway.close()


def answer_of(message, frame):
    """kafka-python's ``message`` as the answer to the request ``frame``."""
    message.with_header(correlation_id=struct.unpack_from(">i", frame, 4)[0])
    return bytes(message.encode(header=True))


def open_connections(gateway):
    return families(gateway.counts.text())["rebalance_agent_gateway_connections"].samples[0].value


def refused(gateway):
    """Reason -> number of connections that the gateway has closed."""
    samples = families(gateway.counts.text())["rebalance_agent_gateway_refused_total"].samples
    return {sample.labels["reason"]: sample.value for sample in samples if sample.value}


async def eventually(condition):
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110 - there is no event for the change
            await asyncio.sleep(0.01)


def run(test):
    """Run a test's coroutine with a time limit."""

    @functools.wraps(test)
    def wrapped(*arguments, **fixtures):
        asyncio.run(asyncio.wait_for(test(*arguments, **fixtures), PATIENCE_S * 2))

    return wrapped
