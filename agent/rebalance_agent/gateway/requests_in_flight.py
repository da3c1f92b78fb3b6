"""Tracks, in order, the requests on one connection that the broker has not answered, with the gateway's own."""

from __future__ import annotations

import asyncio
import itertools
import struct
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from rebalance_agent.gateway.transport.frame_forwarder import FrameForwarder
from rebalance_agent.gateway.transport.kafka_messages import open_frame
from rebalance_agent.gateway.transport.request_head import GATEWAY_CLIENT_ID, RequestHead, read_head

__all__ = ["CORRELATION", "IN_FLIGHT_MAX", "InFlight", "RequestsInFlight"]

IN_FLIGHT_MAX = 1_000
"""Maximum number of requests in flight on one connection; further requests wait. Clients send about five."""

DECODED_HERE_MAX = 64 * 1024
"""Maximum size in bytes of an answer that the event loop decodes itself, in some milliseconds. A thread decodes larger
ones, such as the metadata of thousands of topics (0.5 s for 120,000 partitions), so that other clients need not wait.
"""

CORRELATION = struct.Struct(">i")
"""The format of a correlation id; every response begins with one."""

_CORRELATION_AT = 4
"""The position of a request's correlation id: after the API key and the version."""


@dataclass(frozen=True, slots=True)
class InFlight:
    """A request in flight. ``shown``: its response must be read. ``own_answer``: set if the gateway itself sent it."""

    head: RequestHead
    shown: bool = False
    own_answer: asyncio.Future[bytes] | None = None


class RequestsInFlight:
    """The unanswered requests of a client and of the gateway that ``up`` has sent."""

    def __init__(self, up: FrameForwarder) -> None:
        """Start with no requests in flight."""
        self._up = up
        self._requests: deque[InFlight] = deque()
        self._fewer = asyncio.Event()
        self._own_ids = itertools.count(1)
        self.closed = False

    def registered(self, sent: InFlight) -> Callable[[], None]:
        """Return a function that adds ``sent``; call it once the request's place among all requests is fixed."""
        return lambda: self._requests.append(sent)

    def oldest(self, correlation_id: int) -> InFlight | None:
        """Return the request that is to be answered next; None if it has another correlation id."""
        if not self._requests or self._requests[0].head.correlation_id != correlation_id:
            return None
        return self._requests[0]

    def answered(self) -> None:
        """Remove the oldest request, since the client has its answer; the gateway's own answers wait for this call."""
        self._requests.popleft()
        self._fewer.set()

    async def room(self) -> None:
        """Wait until another request may be sent."""
        await self._fewer_than(IN_FLIGHT_MAX)

    async def all_answered(self) -> None:
        """See `ClientConnection.answered`."""
        await self._fewer_than(1)
        if self.closed:
            raise ConnectionAbortedError("the broker closed the connection")

    async def ask(self, message: Any) -> Any:  # noqa: ANN401 - kafka-python is untyped
        """See `ClientConnection.ask`."""
        head = RequestHead(message.API_KEY, message.API_VERSION, -next(self._own_ids))
        message.with_header(correlation_id=head.correlation_id, client_id=GATEWAY_CLIENT_ID)
        kind = message.header.get_response_class().mro()[1]
        frame = await self._sent(head, bytes(message.encode(header=True)))
        if len(frame) <= DECODED_HERE_MAX:
            return open_frame(kind, head, frame).message
        return (await asyncio.to_thread(open_frame, kind, head, frame)).message

    async def exchange(self, frame: bytes) -> bytes:
        """See `ClientConnection.exchange`."""
        end = _CORRELATION_AT + CORRELATION.size
        correlation_id, own_id = frame[_CORRELATION_AT:end], CORRELATION.pack(-next(self._own_ids))
        changed = frame[:_CORRELATION_AT] + own_id + frame[end:]
        answer = await self._sent(read_head(changed), changed)
        return correlation_id + answer[CORRELATION.size :]

    def close(self) -> None:
        """Let the gateway's own requests in flight fail, since no response will come."""
        self.closed = True
        for sent in self._requests:
            if sent.own_answer and not sent.own_answer.done():
                sent.own_answer.set_exception(ConnectionAbortedError("the connection is closed"))
                sent.own_answer.exception()  # marks the error as retrieved: the caller may be gone, too
        self._fewer.set()

    async def _fewer_than(self, number: int) -> None:
        if len(self._requests) >= number:
            await self._up.flush()
        while len(self._requests) >= number and not self.closed:
            self._fewer.clear()
            await self._fewer.wait()

    async def _sent(self, head: RequestHead, frame: bytes) -> bytes:
        """Send a request of the gateway, and return its answer."""
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        if self.closed:
            raise ConnectionAbortedError("the broker closed the connection")
        sending = asyncio.create_task(self._up.put(frame, self.registered(InFlight(head, own_answer=answer))))
        sending.add_done_callback(_retrieve_error)
        # The caller may be cancelled, but not within a frame: the next frame would be read as the rest of this one.
        await asyncio.wait((sending,))
        sending.result()
        return await answer


def _retrieve_error(sending: asyncio.Task[None]) -> None:
    """Mark the error as retrieved: the caller may have been cancelled before the connection broke."""
    if not sending.cancelled():
        sending.exception()
