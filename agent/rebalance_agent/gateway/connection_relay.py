"""Forwards requests and responses between a client's and a broker's connection, and matches them by their order."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import traceback
from dataclasses import dataclass
from typing import Any

from rebalance_agent.clock import Clock
from rebalance_agent.errors import DecodeError
from rebalance_agent.gateway.connection_interceptor import ConnectionInterceptor
from rebalance_agent.gateway.gateway_counters import GatewayCounters
from rebalance_agent.gateway.requests_in_flight import CORRELATION, InFlight, RequestsInFlight
from rebalance_agent.gateway.seating.connections.client_connection import OwnAnswer
from rebalance_agent.gateway.transport.close_reason import CloseReason, RefusedError
from rebalance_agent.gateway.transport.frame_forwarder import FrameForwarder
from rebalance_agent.gateway.transport.produce_acks import PRODUCE, wants_no_answer
from rebalance_agent.gateway.transport.request_head import HEAD_BYTES_MIN, RequestHead, read_head
from rebalance_agent.gateway.transport.sharing.broker_places import BrokerPlace
from rebalance_agent.gateway.transport.sharing.fair_turns import AddressTurns
from rebalance_agent.gateway.transport.sharing.frame_memory import FrameMemory, FrameMemoryBudget
from rebalance_agent.gateway.transport.splice import Pipes
from rebalance_agent.gateway.transport.tcp_connections import PeerConnection

__all__ = [
    "OBSERVED_BYTES_MAX",
    "READ_ANSWER_BYTES_MAX",
    "READ_REQUEST_BYTES_MAX",
    "REQUEST_BYTES_MAX",
    "ConnectionRelay",
]

REQUEST_BYTES_MAX = 256 * 1024 * 1024
"""Largest request in bytes. Brokers accept 100 MiB by default (socket.request.max.bytes). The first bytes of TLS or
HTTP, if read as a length, mean more than 350 MiB."""

READ_REQUEST_BYTES_MAX = 16 * 1024 * 1024
"""Largest request (bytes) that is read: far larger than the record in which brokers store a group's subscriptions."""

OBSERVED_BYTES_MAX = 1024 * 1024
"""Largest request (bytes) that is read although it is never changed; larger requests pass unread. Reading a Fetch or
commit of this size makes all other connections wait for a third of a second."""

READ_ANSWER_BYTES_MAX = 128 * 1024 * 1024
"""Largest response (bytes) that is read: a Metadata response for a million partitions has about 80 MiB."""

STUCK_CHECK_SECONDS = 5.0
"""Seconds between checks for a disconnected client while the broker accepts none of its requests."""

END_SECONDS_MAX = 60.0
"""Longest time (seconds) for which one direction continues after the other ended: peers usually end both at once."""

SASL_HANDSHAKE = 17
"""The API key of SaslHandshake."""

_ANSWER_BYTES_MIN = 4

_log = logging.getLogger(__name__)


@dataclass(eq=False)
class ConnectionRelay:
    """Forwards frames until both sides have ended. No input on these connections affects other connections.

    A relay owns both of its connections, and closes them.
    """

    client: PeerConnection
    broker: PeerConnection
    place: BrokerPlace
    interceptor: ConnectionInterceptor
    turns: AddressTurns
    pipes: Pipes
    memory: FrameMemoryBudget
    counts: GatewayCounters
    clock: Clock

    def __post_init__(self) -> None:
        """Prepare both directions; `run` starts forwarding."""
        self._up = FrameForwarder(self.client, self.broker, self.pipes, self.counts.up, self.clock)
        self._down = FrameForwarder(self.broker, self.client, self.pipes, self.counts.down, self.clock)
        self._in_flight = RequestsInFlight(self._up)
        self._answer_at = 0.0  # when the last answer that is read had arrived, in monotonic seconds
        self.interceptor.connected(self)

    @property
    def host(self) -> str:
        """See `ClientConnection`."""
        return self.client.peer.rpartition(":")[0]

    @property
    def local_host(self) -> str:
        """See `ClientConnection`."""
        return self.broker.local_host

    @property
    def closed(self) -> bool:
        """See `ClientConnection`."""
        return self._in_flight.closed

    def hung_up(self) -> bool:
        """See `ClientConnection`."""
        return self.client.hung_up()

    async def answered(self) -> None:
        """See `ClientConnection`."""
        await self._in_flight.all_answered()

    async def ask(self, message: Any) -> Any:  # noqa: ANN401 - kafka-python is untyped
        """See `ClientConnection`."""
        return await self._in_flight.ask(message)

    async def exchange(self, frame: bytes) -> bytes:
        """See `ClientConnection`."""
        return await self._in_flight.exchange(frame)

    async def run(self) -> None:
        """Forward frames until both connections end.

        Raises:
            RefusedError: the gateway had to close the connection; both connections are aborted.
            ConnectionError: one of the connections broke; both connections are aborted.
        """
        requests = asyncio.create_task(self.turns.run(self._requests))
        answers = asyncio.create_task(self.turns.run(self._answers))
        try:
            await self._both(requests, answers)
            await self._close()
        except asyncio.CancelledError:
            await self._close()  # the gateway shuts down: close in an orderly way, as brokers do
            raise
        except DecodeError as error:
            raise RefusedError(CloseReason.MALFORMED, str(error)) from None
        finally:
            for task in (requests, answers):
                task.cancel()
            self.client.abort()
            self.broker.abort()
            await asyncio.gather(requests, answers, return_exceptions=True)
            _clear_frames(requests)
            _clear_frames(answers)
            self._in_flight.close()
            self.place.free()
            self.interceptor.closed()

    async def _close(self) -> None:
        await self.client.close()
        await self.broker.close()

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
            now = self.clock.monotonic()
            if ended_at is None and done:
                ended_at = now
            if waiting and ended_at is not None and now - ended_at > END_SECONDS_MAX:
                raise RefusedError(CloseReason.STUCK, "one side closed the connection, but the other did not")
            blocked = self._still_blocked(blocked)

    def _still_blocked(self, before: int) -> int:
        """Detect a disconnected client while the broker accepts no data: unread requests hide the end of the stream."""
        now = self._up.blocked
        if now >= 0 and now == before and self.client.hung_up():
            raise RefusedError(CloseReason.STUCK, "the client disconnected, and the broker does not accept data")
        return now

    async def _requests(self) -> None:
        while (size := await self._next_request()) is not None:
            if not HEAD_BYTES_MIN <= size <= REQUEST_BYTES_MAX:
                raise _wrong_size(size)
            head = read_head(await self._up.first(HEAD_BYTES_MIN))
            if head.api_key == SASL_HANDSHAKE and head.api_version == 0:
                text = "after SaslHandshake v0, the client sends bytes that are not Kafka requests; use a newer client"
                raise RefusedError(CloseReason.SASL_V0, text)
            await self._in_flight.room()
            if self.interceptor.reads_request(head) and not (
                size > OBSERVED_BYTES_MAX and self.interceptor.observes(head)
            ):
                await self._show_request(head, size)
            elif head.api_key == PRODUCE and await wants_no_answer(head, self._up.first):
                await self._up.pass_on()
            else:
                await self._up.pass_on(self._in_flight.registered(InFlight(head, self.interceptor.reads_answer(head))))
        await self.interceptor.client_ended()
        self.broker.end()

    async def _next_request(self) -> int | None:
        """Return the size of the next request; None at the end of the stream. A killed client causes an error."""
        try:
            return await self._up.next()
        except ConnectionError:
            if self.client.hung_up():
                await self.interceptor.client_ended()
            raise

    async def _show_request(self, head: RequestHead, size: int) -> None:
        if size > READ_REQUEST_BYTES_MAX:
            text = f"a request of API {head.api_key} has {size} bytes, more than {READ_REQUEST_BYTES_MAX}"
            raise RefusedError(CloseReason.OVERSIZED, text)
        await self._up.flush()  # earlier frames do not wait for memory
        async with self.memory.frame(self.host) as memory:
            frame = await self._up.whole(memory.grow)
            start = self.clock.monotonic()
            changed = await self.interceptor.request(head, frame, self.ask)
            if isinstance(changed, OwnAnswer):
                await self._answer(changed.frame)
            else:
                await self._up.put(
                    changed, self._in_flight.registered(InFlight(head, self.interceptor.reads_answer(head)))
                )
        self.counts.read(head.api_key, self.clock.monotonic() - start)

    async def _answer(self, frame: bytes) -> None:
        """Send the gateway's own answer to a request once all earlier requests are answered.

        If the client has disconnected, the next read ends the connection.
        """
        with contextlib.suppress(ConnectionError):
            await self.answered()
            await self._down.put(frame)

    async def _answers(self) -> None:
        while (size := await self._down.next()) is not None:
            self.place.free()
            if size < _ANSWER_BYTES_MIN:
                raise RefusedError(CloseReason.MALFORMED, f"the broker sent a response of {size} bytes")
            (correlation_id,) = CORRELATION.unpack(await self._down.first(CORRELATION.size))
            sent = self._in_flight.oldest(correlation_id)
            if sent is None:
                raise RefusedError(CloseReason.MISMATCHED, "the broker sent a response without a request")
            if sent.shown or sent.own_answer:
                await self._show_answer(sent, size)
            else:
                await self._down.pass_on()
            self._in_flight.answered()
        self._in_flight.close()
        self.client.end()

    async def _show_answer(self, sent: InFlight, size: int) -> None:
        if size > READ_ANSWER_BYTES_MAX:
            text = f"a response of API {sent.head.api_key} has {size} bytes, more than {READ_ANSWER_BYTES_MAX}"
            raise RefusedError(CloseReason.OVERSIZED, text)
        await self._down.flush()
        async with self.memory.frame(self.host, urgent=bool(sent.own_answer)) as memory:
            if sent.own_answer:
                frame = await self._down.whole(memory.grow)
                if not sent.own_answer.done():
                    sent.own_answer.set_result(frame)
                return
            # No variable may refer to the frame while a client that does not read delays the write.
            await self._down.put(await self._changed(sent.head, memory))
        self.counts.read(sent.head.api_key, self.clock.monotonic() - self._answer_at)

    async def _changed(self, head: RequestHead, memory: FrameMemory) -> bytes:
        frame = await self._down.whole(memory.grow)
        self._answer_at = self.clock.monotonic()
        return await self.interceptor.response(head, frame)


def _clear_frames(ended: asyncio.Task[None]) -> None:
    """Free the local variables of a failed task, among them megabytes of a frame.

    The task's error refers to `run` and `_both`, and these refer to the task: only the garbage collector would free it.
    """
    if not ended.cancelled() and (error := ended.exception()):
        traceback.clear_frames(error.__traceback__)


def _wrong_size(size: int) -> RefusedError:
    if size < HEAD_BYTES_MIN:
        return RefusedError(CloseReason.MALFORMED, f"a request of {size} bytes has no header")
    return RefusedError(
        CloseReason.OVERSIZED, f"a request of {size} bytes: does the client use TLS or HTTP on this Kafka port?"
    )
