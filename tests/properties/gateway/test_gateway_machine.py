"""For any order of requests and responses, every open connection gets its own responses in order."""

from __future__ import annotations

import asyncio
import struct
from collections import Counter

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from rebalance_agent.gateway.transport.close_reason import CloseReason
from support.examples import examples
from support.gateway.transport import (
    Client,
    RawBroker,
    eventually,
    frame_of,
    open_connections,
    refused,
    request,
    reset,
    through,
)

UNREAD_APIS = (2, 9, 22, 999)
SIZES = st.sampled_from([0, 1, 100, 5_000, 40_000, 70_000, 300_000])
NO_LENGTH = st.sampled_from([-(2**31), -1, 0, 7, 2**28 + 1, 2**31 - 1])


class Connection:
    """A client in the model: its expected responses, and the unsent part of a frame."""

    def __init__(self, client):
        self.client, self.expected, self.rest, self.number = client, [], b"", 0

    async def send(self, data):
        self.client.writer.write(data)
        await asyncio.sleep(0)  # not awaited: a blocked broker accepts only the capacity of the sockets


class AnyOrder(RuleBasedStateMachine):
    """One gateway, one broker that responds unless it is blocked, and clients with plain frames."""

    connections = Bundle("connections")

    def __init__(self):
        super().__init__()
        self.runner, self.live, self.reasons = asyncio.Runner(), [], Counter()
        self.runner.run(self._start())

    async def _start(self):
        self.broker = await RawBroker().start()
        self.running = through(self.broker.port)
        self.gateway = await self.running.__aenter__()

    @rule(target=connections)
    def connect(self):
        one = Connection(self.runner.run(Client.connect(self.gateway.port)))
        self.live.append(one)
        return one

    @rule(one=connections, api=st.sampled_from(UNREAD_APIS), size=SIZES, part=st.floats(0, 1))
    def send(self, one, api, size, part):
        """Send a frame or its first part, after the rest of the previous one."""
        frame = frame_of(request(api, 1, one.number, bytes([one.number % 256]) * size))
        cut = round(len(frame) * part)
        self.runner.run(one.send(one.rest + frame[:cut]))
        one.rest, one.number = frame[cut:], one.number + 1
        one.expected.append(frame[8:12] + b"answer to " + frame[4:])

    @rule(one=connections)
    def send_the_rest(self, one):
        self.runner.run(one.send(one.rest))
        one.rest = b""

    @rule(one=connections)
    @precondition(lambda self: self.broker.reading.is_set())
    def receive(self, one):
        """Receive all responses expected by now."""
        ready = one.expected[: len(one.expected) - bool(one.rest)]
        assert [self.runner.run(one.client.receive()) for _ in ready] == ready
        del one.expected[: len(ready)]

    @rule(reads=st.booleans())
    def hold(self, reads):
        """Block or unblock the broker."""
        (self.broker.reading.set if reads else self.broker.reading.clear)()

    @rule(one=consumes(connections), length=NO_LENGTH)
    @precondition(lambda self: self.broker.reading.is_set())
    def break_the_rules(self, one, length):
        """An impossible length ends this connection."""
        reason = CloseReason.OVERSIZED if length >= 2**28 else CloseReason.MALFORMED
        self.receive(one)
        self.runner.run(one.send(one.rest + struct.pack(">i", length)))
        self._gone(one, reason)

    @rule(one=consumes(connections), abruptly=st.booleans())
    def end(self, one, abruptly):
        """Close a client within a frame or after it, cleanly or not: others continue."""
        if abruptly:
            reset(one.client.writer)
        else:
            self.runner.run(one.client.close())
        self.live.remove(one)

    def _gone(self, one, reason):
        self.runner.run(one.client.ended())
        self.runner.run(one.client.close())
        self.live.remove(one)
        self.reasons[reason] += 1
        self.runner.run(eventually(lambda: refused(self.gateway).get(reason) == self.reasons[reason]))

    @invariant()
    def nothing_failed(self):
        assert not refused(self.gateway).get(CloseReason.FAILED)

    def teardown(self):
        self.broker.reading.set()
        for one in self.live:
            self.send_the_rest(one)
            self.receive(one)
        self.runner.run(self._stop())
        self.runner.close()

    async def _stop(self):
        for one in self.live:
            await one.client.close()
        await eventually(lambda: open_connections(self.gateway) == 0)
        await self.broker.stop()
        await self.running.__aexit__(None, None, None)


TestAnyOrder = AnyOrder.TestCase
TestAnyOrder.settings = settings(max_examples=examples(15), stateful_step_count=25, deadline=None)
