"""One client's connection and one to a broker, joined: requests one way, answers the other, matched by their order."""

from __future__ import annotations

import asyncio
import itertools
import logging
import struct
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from rebalance_agent.clock import Clock
from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.gateway_counters import GatewayCounters
from rebalance_agent.gateway.transport.close_reason import CloseReason, RefusedError
from rebalance_agent.gateway.transport.frame_forwarder import FrameForwarder
from rebalance_agent.gateway.transport.frame_memory import FrameMemoryBudget
from rebalance_agent.gateway.transport.kafka_messages import Ask, open_response
from rebalance_agent.gateway.transport.links import Link
from rebalance_agent.gateway.transport.produce_acks import PRODUCE, wants_no_answer
from rebalance_agent.gateway.transport.request_head import HEAD_BYTES_MIN, RequestHead, read_head
from rebalance_agent.gateway.transport.splice import Pipes

__all__ = [
    "IN_FLIGHT_MAX",
    "OBSERVED_BYTES_MAX",
    "READ_ANSWER_BYTES_MAX",
    "READ_REQUEST_BYTES_MAX",
    "REQUEST_BYTES_MAX",
    "ConnectionRelay",
    "Interceptor",
]

REQUEST_BYTES_MAX = 256 * 1024 * 1024
"""Brokers take 100 MiB unless they are told otherwise (socket.request.max.bytes). What TLS or HTTP begin with, read as
a length, is more than 350 MiB."""

READ_REQUEST_BYTES_MAX = 16 * 1024 * 1024
"""Of a request that is read: brokers store what a group's members send in one record, which is far smaller."""

OBSERVED_BYTES_MAX = 1024 * 1024
"""Of a request that is read only for what it tells; a larger one passes unread. All other connections wait for a third
of a second while so many bytes of a Fetch or a commit are read."""

READ_ANSWER_BYTES_MAX = 128 * 1024 * 1024
"""Of an answer that is read: Metadata of a million partitions has some 80 MiB."""

IN_FLIGHT_MAX = 1_000
"""Requests of one connection that wait for their answers; with more, its requests wait. Clients stop at five or so."""

STUCK_CHECK_SECONDS = 5.0
"""How often it is looked whether a client has gone while its requests cannot be given to the broker."""

END_SECONDS_MAX = 60.0
"""How long one direction goes on after the other has ended: brokers and clients end both at once."""

SASL_HANDSHAKE = 17
_CORRELATION = struct.Struct(">i")
_ANSWER_BYTES_MIN = 4

_log = logging.getLogger(__name__)


class Interceptor(Protocol):
    """What is done to the frames of one connection that are read."""

    def reads_request(self, head: RequestHead) -> bool:
        """Whether this request is to be shown."""
        ...

    def observes(self, head: RequestHead) -> bool:
        """Whether this request, which is to be shown, may as well pass unread: it is never changed."""
        ...

    def reads_answer(self, head: RequestHead) -> bool:
        """Whether the answer to this request is to be shown; asked when the request has been."""
        ...

    async def request(self, head: RequestHead, frame: bytes, ask: Ask) -> bytes:
        """The frame to send to the broker instead. Raises DecodeError where it cannot be read."""
        ...

    async def response(self, head: RequestHead, frame: bytes) -> bytes:
        """The frame to send to the client instead. There is no ``ask`` here: its answer would have to come first.

        Raises DecodeError where it cannot be read, RefusedError where what is needed for it cannot be had.
        """
        ...

    def closed(self) -> None:
        """The connection is gone."""
        ...


@dataclass(frozen=True, slots=True)
class _Sent:
    """A request that waits for its answer; ``asked``: it was ours."""

    head: RequestHead
    shown: bool = False
    asked: asyncio.Future[bytes] | None = None


class ConnectionRelay:
    """Runs until both sides have ended. Nothing of another connection is touched, whatever comes here."""

    def __init__(
        self,
        client: Link,
        broker: Link,
        talk: Interceptor,
        pipes: Pipes,
        memory: FrameMemoryBudget,
        counts: GatewayCounters,
        clock: Clock,
    ) -> None:
        """Both links are this relay's from now on."""
        self._client, self._broker, self._talk, self._counts, self._clock = client, broker, talk, counts, clock
        self._memory = memory
        self._up = FrameForwarder(client, broker, pipes, counts.up, clock)
        self._down = FrameForwarder(broker, client, pipes, counts.down, clock)
        self._in_flight: deque[_Sent] = deque()
        self._room = asyncio.Event()
        self._ours = itertools.count(1)
        self._answered = False

    async def run(self) -> None:
        """Join them until they end.

        Raises:
            RefusedError: the gateway had to end it; both are aborted.
            ConnectionError: one of them broke; both are aborted.
        """
        requests = asyncio.create_task(self._requests())
        answers = asyncio.create_task(self._answers())
        try:
            await self._both(requests, answers)
            await self._close()
        except asyncio.CancelledError:
            await self._close()  # the gateway ends: as brokers do, not as networks break
            raise
        except DecodeError as error:
            raise RefusedError(CloseReason.MALFORMED, str(error)) from None
        finally:
            for task in (requests, answers):
                task.cancel()
            self._client.abort()
            self._broker.abort()
            await asyncio.gather(requests, answers, return_exceptions=True)
            self._forsake()
            self._talk.closed()

    async def _close(self) -> None:
        await self._client.close()
        await self._broker.close()

    async def _both(self, requests: asyncio.Task[None], answers: asyncio.Task[None]) -> None:
        waiting: set[asyncio.Task[None]] = {requests, answers}
        ended_at: float | None = None
        blocked = -1
        while waiting:
            done, waiting = await asyncio.wait(
                waiting, timeout=STUCK_CHECK_SECONDS, return_when=asyncio.FIRST_COMPLETED
            )
            for task in done:
                task.result()
            now = self._clock.monotonic()
            if ended_at is None and done:
                ended_at = now
            if waiting and ended_at is not None and now - ended_at > END_SECONDS_MAX:
                raise RefusedError(CloseReason.STUCK, "one side has ended, and the other goes on")
            blocked = self._still_blocked(blocked)

    def _still_blocked(self, before: int) -> int:
        """Notice a client that is gone while a broker takes nothing: its end cannot be read behind its requests."""
        now = self._up.blocked
        if now >= 0 and now == before and self._client.hung_up():
            raise RefusedError(CloseReason.STUCK, "the client is gone, and the broker takes nothing")
        return now

    async def _requests(self) -> None:
        while (size := await self._up.next()) is not None:
            if not HEAD_BYTES_MIN <= size <= REQUEST_BYTES_MAX:
                raise _wrong_size(size)
            head = read_head(await self._up.first(HEAD_BYTES_MIN))
            if head.api_key == SASL_HANDSHAKE and head.api_version == 0:
                text = "SaslHandshake v0 is followed by bytes that are no frames; use a client of this decade"
                raise RefusedError(CloseReason.SASL_V0, text)
            while len(self._in_flight) >= IN_FLIGHT_MAX:
                self._room.clear()
                await self._up.flush()
                await self._room.wait()
            if self._talk.reads_request(head) and not (size > OBSERVED_BYTES_MAX and self._talk.observes(head)):
                await self._show_request(head, size)
            elif head.api_key == PRODUCE and await wants_no_answer(head, self._up.first):
                await self._up.pass_on()
            else:
                await self._up.pass_on(self._registered(_Sent(head, self._talk.reads_answer(head))))
        self._broker.end()

    async def _show_request(self, head: RequestHead, size: int) -> None:
        if size > READ_REQUEST_BYTES_MAX:
            raise RefusedError(CloseReason.OVERSIZED, f"a request of API {head.api_key} has {size} bytes")
        await self._up.flush()  # what came before does not wait for room
        async with self._memory.taken(size):
            frame = await self._up.whole()
            start = self._clock.monotonic()
            changed = await self._talk.request(head, frame, self._ask)
            await self._up.put(changed, self._registered(_Sent(head, self._talk.reads_answer(head))))
        self._counts.read(head.api_key, self._clock.monotonic() - start)

    async def _answers(self) -> None:
        while (size := await self._down.next()) is not None:
            if size < _ANSWER_BYTES_MIN:
                raise RefusedError(CloseReason.MALFORMED, f"the broker sent an answer of {size} bytes")
            (correlation_id,) = _CORRELATION.unpack(await self._down.first(_CORRELATION.size))
            if not self._in_flight or self._in_flight[0].head.correlation_id != correlation_id:
                raise RefusedError(CloseReason.MISMATCHED, "the broker sent an answer to no request that waits for one")
            sent = self._in_flight.popleft()
            self._room.set()
            if sent.shown or sent.asked:
                await self._show_answer(sent, size)
            else:
                await self._down.pass_on()
        self._forsake()
        self._client.end()

    async def _show_answer(self, sent: _Sent, size: int) -> None:
        if size > READ_ANSWER_BYTES_MAX:
            raise RefusedError(CloseReason.OVERSIZED, f"an answer of API {sent.head.api_key} has {size} bytes")
        await self._down.flush()
        async with self._memory.taken(size, urgent=bool(sent.asked)):
            frame = await self._down.whole()
            if sent.asked:
                if not sent.asked.done():
                    sent.asked.set_result(frame)
                return
            start = self._clock.monotonic()
            await self._down.put(await self._talk.response(sent.head, frame))
        self._counts.read(sent.head.api_key, self._clock.monotonic() - start)

    async def _ask(self, message: Any) -> Any:  # noqa: ANN401 - kafka-python is untyped
        head = RequestHead(message.API_KEY, message.API_VERSION, -next(self._ours))
        message.with_header(correlation_id=head.correlation_id, client_id="rebalance-agent-gateway")
        kind = message.header.get_response_class().mro()[1]
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        if self._answered:
            raise ConnectionAbortedError("the broker has ended the connection")
        frame = bytes(message.encode(header=True))
        sending = asyncio.create_task(self._up.put(frame, self._registered(_Sent(head, asked=answer))))
        sending.add_done_callback(_noted)
        # Who asks may give up, but not in the middle of a frame: the next one would be read as its rest.
        await asyncio.wait((sending,))
        sending.result()
        return open_response(kind, head, await answer).message

    def _registered(self, sent: _Sent) -> Callable[[], None]:
        return lambda: self._in_flight.append(sent)

    def _forsake(self) -> None:
        """No answer comes any more."""
        self._answered = True
        for sent in self._in_flight:
            if sent.asked and not sent.asked.done():
                sent.asked.set_exception(ConnectionAbortedError("the connection is gone"))
                sent.asked.exception()  # who asked may be gone, too


def _noted(sending: asyncio.Task[None]) -> None:
    """Who asked may not be there any more to hear that the connection broke."""
    if not sending.cancelled():
        sending.exception()


def _wrong_size(size: int) -> RefusedError:
    if size < HEAD_BYTES_MIN:
        return RefusedError(CloseReason.MALFORMED, f"a request of {size} bytes has no header")
    return RefusedError(
        CloseReason.OVERSIZED, f"a request of {size} bytes: is it TLS or HTTP, spoken to a port of Kafka?"
    )
