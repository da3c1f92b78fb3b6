"""A thousand JoinGroups that wait for seats, on connections of their own: memory and threads of the process."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import threading

import psutil
import pytest

from rebalance_agent.gateway import gateway_server
from rebalance_agent.gateway.seating import acting_group
from support.gateway.seat_clients import SeatClient, SeatGateway
from support.gateway.transport import LENGTH, frame_of, through
from support.seats.frame_steps import member

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

HELD = 1_000
HOSTS = ("127.0.0.2", "127.0.0.3", "127.0.0.4")
HELD_BYTES_MAX = 50 * 2**20
"""Growth of the process, in which the clients' and the broker's ends of the connections are, too."""


@contextlib.asynccontextmanager
async def broker(gateway):
    """The port of a broker that answers like the coordinator of ``gateway``."""

    async def serve(reader, writer):
        answering = SeatClient(gateway, "broker")
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                frame = await reader.readexactly(LENGTH.unpack(await reader.readexactly(LENGTH.size))[0])
                writer.write(frame_of(await answering._broker(frame)))
                await writer.drain()
        writer.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=HELD)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def hold(seats):
    """Hold the JoinGroups of new consumers, each on its connection; return the growth in bytes and in threads."""
    await member(seats)
    async with broker(seats) as port, through(port, groups=seats.groups.for_connection, clock=seats.clock) as gateway:
        process, threads = psutil.Process(), threading.active_count()
        before = process.memory_info().rss
        clients = []
        for number in range(HELD):
            client = socket.create_connection(
                ("127.0.0.1", gateway.port), source_address=(HOSTS[number % len(HOSTS)], 0)
            )
            clients.append(client)
            message = SeatClient(seats)._join_request()
            message.with_header(correlation_id=1, client_id=f"new-{number}")
            client.sendall(frame_of(bytes(message.encode(header=True))))
            if number % 50 == 0:
                await asyncio.sleep(0)
        while seats.acts.held < HELD:
            await asyncio.sleep(0.1)
            seats.seats.step()
        grown = process.memory_info().rss - before
        more = threading.active_count() - threads
        for each in clients:
            each.close()
        return grown, more


def test_a_thousand_held_joins_take_less_than_50_mib_and_no_thread(monkeypatch):
    # Sending them takes seconds of processor time.
    monkeypatch.setattr(acting_group, "OVERDUE_SECONDS", 300.0)
    monkeypatch.setattr(gateway_server, "CONNECTIONS_MAX", HELD)
    grown, threads = asyncio.run(hold(SeatGateway()))
    assert threads <= 0
    assert grown < HELD_BYTES_MAX
