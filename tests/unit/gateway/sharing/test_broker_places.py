"""One address cannot fill a broker's queue of new connections."""

from __future__ import annotations

import socket

from rebalance_agent.gateway.transport.close_reason import CloseReason
from rebalance_agent.gateway.transport.sharing import broker_places
from rebalance_agent.gateway.transport.sharing.broker_places import UNANSWERED_MAX
from support.gateway.transport import Client, RawBroker, eventually, refused, request, run, through

FRIEND, HEARTBEAT = "127.0.0.3", 12


@run
async def test_connections_that_a_broker_has_not_answered_are_bounded_by_address(monkeypatch):
    monkeypatch.setattr(broker_places, "UNANSWERED_SECONDS", 3_600)
    broker = await RawBroker(lambda frame: None if b"silent" in frame else frame[4:8]).start()
    async with through(broker.port) as gateway:
        silent = [await Client.connect(gateway.port) for _ in range(2 * UNANSWERED_MAX)]
        for each in silent:
            await each.send(request(HEARTBEAT, 4, 1, b"silent"))
        friend = await Client.connect(gateway.port, local_addr=(FRIEND, 0))
        await friend.send(request(HEARTBEAT, 4, 7))
        assert await friend.receive(), "another address has places of its own"
        assert broker.connections == UNANSWERED_MAX + 1
        for each in silent[:UNANSWERED_MAX]:
            await each.close()
        await eventually(lambda: broker.connections == 2 * UNANSWERED_MAX + 1)
        for each in (friend, *silent):
            await each.close()
    await broker.stop()


@run
async def test_answered_connections_and_silent_clients_keep_no_place(monkeypatch):
    monkeypatch.setattr(broker_places, "UNANSWERED_SECONDS", 0.01)
    broker = await RawBroker().start()
    async with through(broker.port) as gateway:
        silent = [await Client.connect(gateway.port) for _ in range(2 * UNANSWERED_MAX)]
        await eventually(lambda: broker.connections == len(silent))
        monkeypatch.setattr(broker_places, "UNANSWERED_SECONDS", 3_600)
        answered = [await Client.connect(gateway.port) for _ in range(2 * UNANSWERED_MAX)]
        for each in answered:
            await each.send(request(HEARTBEAT, 4, 1))
            assert await each.receive()
        for each in (*silent, *answered):
            await each.close()
    await broker.stop()


@run
async def test_a_broker_that_cannot_be_reached_keeps_no_place():
    with socket.socket() as dead:
        dead.bind(("127.0.0.1", 0))
        async with through(dead.getsockname()[1]) as gateway:
            for _ in range(2 * UNANSWERED_MAX):
                assert (await (await Client.connect(gateway.port)).ended())[0] == b""
            assert refused(gateway) == {CloseReason.UNREACHABLE: 2 * UNANSWERED_MAX}
