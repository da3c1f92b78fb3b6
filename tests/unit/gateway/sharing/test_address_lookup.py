"""Brokers' names are looked up once for all connections."""

from __future__ import annotations

import asyncio
import socket

from rebalance_agent.gateway.transport.sharing.address_lookup import AddressLookup
from support.gateway.transport import run


class Names:
    """Answers lookups when it is asked to."""

    def __init__(self, loop, monkeypatch):
        self.asked, self.answer = [], loop.create_future()
        monkeypatch.setattr(loop, "getaddrinfo", self._find)

    async def _find(self, host, port, **_options):
        self.asked.append(host)
        return await asyncio.shield(self.answer)


@run
async def test_connections_share_a_lookup(monkeypatch):
    names, lookup = Names(asyncio.get_running_loop(), monkeypatch), AddressLookup()
    finding = [asyncio.create_task(lookup.find("kafka", 9092)) for _ in range(5)]
    await asyncio.sleep(0)
    finding[0].cancel()
    names.answer.set_result(["found"])
    assert await asyncio.gather(*finding[1:]) == [["found"]] * 4
    assert await lookup.find("kafka", 9092) == ["found"]
    assert names.asked == ["kafka"]
    assert (await lookup.find("127.0.0.1", 9092))[0][4] == ("127.0.0.1", 9092)
    assert names.asked == ["kafka"], "an IP address is not looked up"


@run
async def test_a_failed_lookup_is_an_error_of_all_that_wait_and_is_tried_again(monkeypatch):
    monkeypatch.setattr("rebalance_agent.gateway.transport.sharing.address_lookup.KEPT_SECONDS", 0)
    names, lookup = Names(asyncio.get_running_loop(), monkeypatch), AddressLookup()
    names.answer.set_exception(socket.gaierror("no address"))
    for error in await asyncio.gather(*(lookup.find("kafka", 1) for _ in range(2)), return_exceptions=True):
        assert isinstance(error, socket.gaierror)
    names.answer = asyncio.get_running_loop().create_future()
    names.answer.set_result(["found"])
    while lookup._lookups:  # noqa: ASYNC110 - until the error is forgotten
        await asyncio.sleep(0)
    assert await lookup.find("kafka", 1) == ["found"]
